/** The life of streams on both ends, against a peer that the test plays. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { FakeOutput } from '@elysia-microservices/rsocket/testing'
import { ClientEnd, Recorder, ServerEnd } from '../testing/ends.ts'
import {
  block,
  data,
  frame,
  framesIn,
  headers,
  PREFACE_BYTES,
  ping,
  REQUEST,
  reset,
  settings,
  uint32,
  windowUpdate
} from '../testing/frames.ts'
import { Http2Connection } from './connection.ts'
import { Flag, FrameType } from './frame-type.ts'

const OPEN = 0
const OK = [':status', '200']
const goAway = (last: number, code: number) =>
  frame(FrameType.GOAWAY, 0, 0, Buffer.concat([uint32(last), uint32(code), Buffer.from('why')]))

describe('a connection begins', () => {
  it('at the server with its settings and a larger window, before the client says anything', () => {
    const end = new ServerEnd({}, false)
    assert.deepEqual(end.sent(), ['SETTINGS', `WINDOW_UPDATE 0 ${4_194_304 - 65_535}`])
    assert.equal(end.connection.incomplete, true)
    end.receives(PREFACE_BYTES, settings())
    assert.deepEqual(end.sent(), ['SETTINGS ack'])
    assert.equal(end.connection.incomplete, false)
  })

  it('at the client with preface, settings and requests, which wait for the socket', () => {
    const connection = new Http2Connection({ role: 'client', now: () => 0 })
    connection.request(OK, true, new Recorder())
    const output = new FakeOutput()
    connection.open(output)
    const bytes = output.sent()
    assert.deepEqual([...bytes.subarray(0, PREFACE_BYTES.length)], [...PREFACE_BYTES])
    const frames = framesIn(bytes)
    assert.deepEqual(
      frames.map(({ type }) => type),
      [FrameType.SETTINGS, FrameType.WINDOW_UPDATE, FrameType.HEADERS]
    )
    assert.equal(frames[0]?.payload.toString('hex'), '000200000000' + '000400040000' + '000600010000')
  })

  it('with settings of any kind, which are answered', () => {
    const end = new ServerEnd({}, false)
    end.receives(PREFACE_BYTES, settings([1, 0], [3, 5], [4, 100], [5, 20_000], [6, 1_000], [0x99, 7]))
    assert.deepEqual(end.answers(), [])
    assert.deepEqual(end.connection.isTooLarge(['a', 'x'.repeat(1_000)]), true)
    assert.deepEqual(end.connection.isTooLarge(['a', 'x'.repeat(900)]), false)
  })
})

describe('a request', () => {
  it('is answered with fields, data and trailers', () => {
    const end = new ServerEnd()
    end.receives(headers(1, REQUEST, OPEN), data(1, 'ab'), data(1, 'c', true))
    const { stream, recorder, words } = end.requests[0]!
    assert.equal(words, ':method=POST :scheme=http :path=/a.B/C :authority=here')
    assert.deepEqual(recorder.events, ['data ab', 'data end c'])
    stream.fields(OK, false)
    stream.data(Buffer.from('answer'), false)
    stream.fields(['grpc-status', '0'], true)
    assert.deepEqual(end.answers(), ['HEADERS 1 :status=200', 'DATA 1 answer', 'HEADERS 1 end grpc-status=0'])
    assert.equal(end.connection.inFlight, 0)
    // Nothing is sent behind the end.
    stream.data(Buffer.from('more'), true)
    stream.fields(OK, true)
    stream.cancel(8)
    stream.consumed(5)
    assert.deepEqual([end.sent(), stream.hasRoom], [[], false])
  })

  it('with trailers, padding and priority is read', () => {
    const end = new ServerEnd()
    const padded = Buffer.concat([Uint8Array.of(3, 0x80, 0, 0, 0, 255), block(...REQUEST), Buffer.alloc(3)])
    end.receives(
      frame(FrameType.HEADERS, Flag.END_HEADERS | Flag.PADDED | Flag.PRIORITY, 1, padded),
      frame(FrameType.DATA, Flag.PADDED, 1, [2, 120, 0, 0]),
      headers(1, [['x', 'y']])
    )
    assert.deepEqual(end.requests[0]?.recorder.events, ['data x', 'trailers x=y'])
  })

  it('whose fields come in many frames is read', () => {
    const end = new ServerEnd()
    const whole = block(...REQUEST)
    end.receives(frame(FrameType.HEADERS, Flag.END_STREAM, 1, whole.subarray(0, 5)))
    assert.equal(end.connection.incomplete, true)
    end.receives(
      frame(FrameType.CONTINUATION, 0, 1),
      frame(FrameType.CONTINUATION, 0, 1, whole.subarray(5, 20))
    )
    end.receives(frame(FrameType.CONTINUATION, Flag.END_HEADERS, 1, whole.subarray(20)))
    assert.equal(end.requests[0]?.words, 'end :method=POST :scheme=http :path=/a.B/C :authority=here')
    assert.equal(end.connection.incomplete, false)
  })

  it('that is answered before its end is no longer wanted: the client is told with NO_ERROR', () => {
    const end = new ServerEnd()
    end.onRequest = (stream) => stream.fields([':status', '404'], true)
    end.receives(headers(1, REQUEST, OPEN), data(1, 'still'), data(1, 'sending', true))
    assert.deepEqual(end.answers(), ['HEADERS 1 end :status=404', 'RST_STREAM 1 NO_ERROR'])
    assert.deepEqual([end.requests[0]?.recorder.events, end.connection.inFlight], [[], 0])
  })

  it('that the client cancels ends once', () => {
    const end = new ServerEnd()
    end.receives(headers(1, REQUEST, OPEN), reset(1, 8))
    const { stream, recorder } = end.requests[0]!
    assert.deepEqual(recorder.events, ['reset CANCEL by peer'])
    stream.fields(OK, true)
    end.connection.close()
    assert.deepEqual([end.answers(), recorder.events.length], [[], 1])
  })

  it('ends with its connection', () => {
    const end = new ServerEnd()
    end.receives(headers(1))
    end.connection.close(new Error('lost'))
    const { recorder } = end.requests[0]!
    assert.deepEqual(recorder.events, ['reset CANCEL'])
    assert.equal(recorder.end?.reason?.message, 'lost')
  })
})

describe('long fields', () => {
  it('are sent in frames of 16 KB', () => {
    const end = new ClientEnd()
    end.connection.request(['x', 'y'.repeat(40_000)], true, end.request())
    const frames = framesIn(end.output.sent()).slice(1)
    assert.deepEqual(
      frames.map(({ type, flags, payload }) => [type, flags, payload.length]),
      [
        [FrameType.HEADERS, Flag.END_STREAM, 16_384],
        [FrameType.CONTINUATION, 0, 16_384],
        [FrameType.CONTINUATION, Flag.END_HEADERS, 40_007 - 2 * 16_384]
      ]
    )
  })

  it('that are not ASCII end the connection, which is a bug of this side', () => {
    const end = new ServerEnd()
    end.receives(headers(1), headers(3))
    end.requests[0]!.stream.fields([':status', '200', 'x', 'é'], true)
    assert.deepEqual(end.answers(), ['GOAWAY 3 INTERNAL_ERROR'])
    assert.deepEqual(
      end.requests.map(({ recorder }) => recorder.events),
      [['reset CANCEL'], ['reset CANCEL']]
    )
  })
})

describe('data', () => {
  /** A stream of a server whose client gives these windows. */
  function answering(stream: number, initial: number): ServerEnd {
    const end = new ServerEnd()
    end.receives(settings([4, initial]), headers(stream))
    end.requests[0]!.stream.fields(OK, false)
    end.sent()
    return end
  }

  it('is cut into frames and waits for the window of the stream', () => {
    const end = answering(1, 5)
    const { stream } = end.requests[0]!
    stream.data(Buffer.from('0123456789'), false)
    stream.fields(['x', 'y'], true)
    assert.deepEqual(end.answers(), ['DATA 1 01234'])
    end.receives(windowUpdate(1, 2))
    assert.deepEqual(end.answers(), ['DATA 1 56'])
    end.receives(windowUpdate(1, 100))
    assert.deepEqual(end.answers(), ['DATA 1 789', 'HEADERS 1 end x=y'])
    assert.equal(end.connection.inFlight, 0)
  })

  it('tells of room when a window has been used up to exactly 0 and nothing waits', () => {
    const end = answering(1, 10)
    const { stream, recorder } = end.requests[0]!
    stream.data(Buffer.alloc(10), false)
    assert.equal(stream.hasRoom, false)
    end.receives(windowUpdate(0, 1))
    assert.equal(recorder.rooms, 0)
    end.receives(windowUpdate(1, 1))
    assert.deepEqual([recorder.rooms, stream.hasRoom], [1, true])
  })

  it('tells of room when the window of the connection was used up to exactly 0', () => {
    const end = answering(1, 100_000)
    const { stream, recorder } = end.requests[0]!
    stream.data(Buffer.alloc(65_535), false)
    assert.equal(stream.hasRoom, false)
    end.receives(windowUpdate(1, 5))
    assert.equal(recorder.rooms, 0)
    end.receives(windowUpdate(0, 5))
    assert.deepEqual([recorder.rooms, stream.hasRoom], [1, true])
  })

  it('tells of room when settings open a window that they had closed', () => {
    const end = answering(1, 10)
    const { stream, recorder } = end.requests[0]!
    stream.data(Buffer.alloc(5), false)
    end.receives(settings([4, 0]))
    assert.equal(stream.hasRoom, false)
    stream.data(Buffer.from('waits'), false)
    end.receives(settings([4, 5]))
    assert.deepEqual([end.answers(), recorder.rooms], [['DATA 1 \0\0\0\0\0'], 0])
    end.receives(settings([4, 8]))
    assert.deepEqual(end.answers(), ['DATA 1 wai'])
    end.receives(settings([4, 11]))
    assert.deepEqual([end.answers(), recorder.rooms], [['DATA 1 ts'], 1])
  })

  it('of streams that wait for the connection takes turns, a frame each', () => {
    const end = new ServerEnd()
    end.receives(settings([4, 1_000_000]), headers(1), headers(3), headers(5))
    for (const { stream } of end.requests) stream.fields(OK, false)
    end.requests[0]!.stream.data(Buffer.alloc(65_535), false)
    for (const { stream } of end.requests) stream.data(Buffer.alloc(40_000, String(stream.id)), true)
    end.output.sent()
    end.receives(windowUpdate(0, 1_000_000))
    const sent = framesIn(end.output.sent()).map(({ streamId, payload }) => [streamId, payload.length])
    assert.deepEqual(sent, [
      [1, 16_384],
      [3, 16_384],
      [5, 16_384],
      [1, 16_384],
      [3, 16_384],
      [5, 16_384],
      [1, 7_232],
      [3, 7_232],
      [5, 7_232]
    ])
    assert.equal(end.connection.inFlight, 0)
  })

  it('without content ends a stream whatever the windows', () => {
    const end = answering(1, 0)
    const { stream } = end.requests[0]!
    stream.data(new Uint8Array(), false)
    assert.deepEqual(end.answers(), [])
    stream.data(new Uint8Array(), true)
    assert.deepEqual(end.answers(), ['DATA 1 end'])
  })

  it('waits while the socket is blocked', () => {
    const end = answering(1, 65_535)
    const { stream, recorder } = end.requests[0]!
    end.output.isBlocked = true
    stream.data(Buffer.from('later'), false)
    assert.deepEqual([end.sent(), stream.hasRoom], [[], false])
    end.output.isBlocked = false
    end.connection.resume()
    assert.deepEqual(end.answers(), ['DATA 1 later'])
    assert.equal(recorder.rooms, 1)
  })
})

describe('received data', () => {
  it('gives its room back when half of a window was consumed', () => {
    const end = new ServerEnd({ streamWindow: 65_535, connectionWindow: 100_000 })
    end.receives(headers(1, REQUEST, OPEN))
    const { stream, recorder } = end.requests[0]!
    recorder.consumes = false
    end.receives(data(1, Buffer.alloc(16_384)), data(1, Buffer.alloc(16_384)), data(1, Buffer.alloc(16_384)))
    assert.deepEqual(end.sent(), [])
    stream.consumed(32_767)
    assert.deepEqual(end.sent(), [])
    stream.consumed(1)
    assert.deepEqual(end.sent(), ['WINDOW_UPDATE 1 32768'])
    stream.consumed(16_384)
    // More than has arrived is not given back.
    stream.consumed(16_384)
    assert.deepEqual(end.sent(), [])
    end.receives(data(1, Buffer.alloc(2_000), true))
    stream.consumed(2_000)
    assert.deepEqual(end.sent(), ['WINDOW_UPDATE 0 51152'])
  })

  it('that nobody has consumed when its stream ends gives back the room of the connection', () => {
    const end = new ServerEnd({ connectionWindow: 65_535, streamWindow: 65_535 })
    for (let id = 1; id < 21; id += 2) {
      end.onRequest = (_stream, _isLast, recorder) => {
        recorder.consumes = false
      }
      end.receives(headers(id, REQUEST, OPEN), data(id, Buffer.alloc(16_000)), data(id, Buffer.alloc(16_000)))
      end.receives(reset(id, 8))
    }
    assert.equal(end.output.ended, undefined)
    assert.equal(end.requests.length, 10)
  })

  it('with padding gives back the room of the padding', () => {
    const end = new ServerEnd({ streamWindow: 65_535 })
    end.receives(headers(1, REQUEST, OPEN))
    const padded = frame(FrameType.DATA, Flag.PADDED, 1, [200, 120, ...Buffer.alloc(200)])
    for (let time = 0; time < 2_000; time++) end.receives(padded)
    assert.deepEqual([end.output.ended, end.requests[0]!.recorder.received], [undefined, 2_000])
  })
})

describe('a client', () => {
  it('reads a response behind informational ones', () => {
    const end = new ClientEnd()
    const call = end.request()
    end.receives(
      headers(
        1,
        [
          [':status', '103'],
          ['link', 'x']
        ],
        OPEN
      ),
      headers(1, [[':status', '200']], OPEN)
    )
    end.receives(data(1, 'a'), headers(1, [['grpc-status', '0']]))
    assert.deepEqual(call.events, ['head :status=200', 'data a', 'trailers grpc-status=0'])
    assert.equal(end.connection.inFlight, 0)
  })

  it('does not wait for a body whose length a response without one says', () => {
    const end = new ClientEnd()
    const call = end.request()
    end.receives(
      headers(1, [
        [':status', '304'],
        ['content-length', '5']
      ])
    )
    assert.deepEqual([call.events.length, end.answers().length], [1, 1])
  })

  it('opens as many streams as the server allows, and is told when it may open more', () => {
    const end = new ClientEnd({}, false)
    const opened = () => {
      let count = 0
      for (; end.connection.canOpen; count++) end.request()
      return count
    }
    assert.equal(opened(), 100)
    end.receives(settings([3, 102]))
    assert.deepEqual([end.changes, opened()], [1, 2])
    end.receives(settings([3, 50]), headers(1, [[':status', '200']]))
    assert.deepEqual([end.changes, opened()], [3, 0])
    end.receives(settings([3, 102]))
    assert.equal(opened(), 1)
  })

  it('opens no streams behind GOAWAY; those that the server has not handled certainly did not run', () => {
    const end = new ClientEnd()
    const [one, two] = [end.request(), end.request()]
    end.receives(goAway(1, 0))
    assert.deepEqual([end.connection.canOpen, end.connection.isLeaving], [false, true])
    assert.deepEqual(end.connection.goAway, { lastStreamId: 1, errorCode: 0, reason: 'why' })
    assert.deepEqual(two.events, ['reset NO_ERROR by peer not run'])
    end.receives(headers(1, [[':status', '200']]))
    assert.deepEqual(one.events, ['head end :status=200'])
  })

  it('lets no later GOAWAY allow more', () => {
    const end = new ClientEnd()
    const calls = [end.request(), end.request(), end.request()]
    end.receives(goAway(2 ** 31 - 1, 0))
    assert.deepEqual(
      calls.map(({ events }) => events.length),
      [0, 0, 0]
    )
    end.receives(goAway(3, 0), goAway(5, 11), goAway(1, 11))
    assert.deepEqual(
      calls.map(({ events }) => events.length),
      [0, 1, 1]
    )
  })

  it('knows a refused stream as one that did not run', () => {
    const end = new ClientEnd()
    const call = end.request()
    end.receives(reset(1, 7))
    assert.deepEqual(call.events, ['reset REFUSED_STREAM by peer not run'])
  })

  it('cancels, and ignores what was under way', () => {
    const end = new ClientEnd()
    const call = end.request(false)
    end.sent()
    call.stream.cancel(8)
    assert.deepEqual(end.answers(), ['RST_STREAM 1 CANCEL'])
    end.receives(headers(1, [[':status', '200']], OPEN), data(1, Buffer.alloc(16_000)), windowUpdate(1, 9))
    end.receives(headers(1, [['grpc-status', '0']]), reset(1, 8))
    assert.deepEqual([call.events, end.output.ended, end.answers()], [[], undefined, []])
  })

  it('hears of its end when the server wants no more of the request', () => {
    const end = new ClientEnd()
    const call = end.request(false)
    end.receives(headers(1, [[':status', '200']]), reset(1, 0))
    assert.deepEqual(call.events, ['head end :status=200', 'reset NO_ERROR by peer'])
    assert.equal(end.connection.inFlight, 0)
  })

  it('says goodbye', () => {
    const end = new ClientEnd()
    end.connection.leave()
    assert.deepEqual(end.answers(), ['GOAWAY 0 NO_ERROR'])
  })
})

describe('PING', () => {
  it('is answered with its own bytes', () => {
    const end = new ServerEnd()
    end.receives(ping(0xab))
    assert.deepEqual(end.answers(), ['PING ack abababababababab'])
  })

  it('of this side is told its answer once, and no other', () => {
    const end = new ServerEnd()
    const answers: number[] = []
    end.connection.ping(() => answers.push(1))
    end.connection.ping(() => answers.push(2))
    const [first, second] = framesIn(end.output.sent())
    end.receives(ping(9, Flag.ACK), frame(FrameType.PING, Flag.ACK, 0, second!.payload))
    end.receives(frame(FrameType.PING, Flag.ACK, 0, second!.payload))
    assert.deepEqual(answers, [2])
    end.receives(frame(FrameType.PING, Flag.ACK, 0, first!.payload))
    assert.deepEqual(answers, [2, 1])
  })
})

describe('a server that drains', () => {
  it('answers what was under way, also what came before the client knew, and nothing later', () => {
    const end = new ServerEnd()
    end.receives(headers(1))
    assert.equal(end.connection.drain('stopping'), true)
    end.connection.drain('again')
    const [goodbye, question] = framesIn(end.output.sent())
    assert.equal(goodbye?.payload.readUInt32BE(), 2 ** 31 - 1)
    assert.equal(goodbye?.payload.toString('latin1', 8), 'stopping')
    end.receives(headers(3), frame(FrameType.PING, Flag.ACK, 0, question!.payload))
    assert.deepEqual(end.answers(), ['GOAWAY 3 NO_ERROR'])
    end.receives(headers(5, REQUEST, OPEN), data(5, 'ignored', true))
    assert.deepEqual([end.requests.length, end.output.ended], [2, undefined])
    for (const { stream } of end.requests) stream.fields(OK, true)
    assert.deepEqual(end.answers(), ['HEADERS 1 end :status=200', 'HEADERS 3 end :status=200'])
    assert.equal(end.output.ended, 'without reason')
  })

  it('ends at once when nothing is under way and the client knows', () => {
    const end = new ServerEnd()
    end.connection.drain()
    const question = framesIn(end.output.sent())[1]!
    assert.equal(end.output.ended, undefined)
    end.receives(frame(FrameType.PING, Flag.ACK, 0, question.payload))
    assert.equal(end.output.ended, 'without reason')
  })
})

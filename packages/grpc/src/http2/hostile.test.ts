/** Peers that break a rule of HTTP/2, each with the error that RFC 9113 demands. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ClientEnd, ServerEnd } from '../testing/ends.ts'
import {
  block,
  data,
  frame,
  headers,
  PREFACE_BYTES,
  ping,
  REQUEST,
  reset,
  settings,
  uint32,
  windowUpdate
} from '../testing/frames.ts'
import { Flag, FrameType } from './frame-type.ts'

const OPEN = 0
const {
  HEADERS,
  CONTINUATION,
  DATA,
  PRIORITY,
  RST_STREAM,
  SETTINGS,
  PUSH_PROMISE,
  PING,
  GOAWAY,
  WINDOW_UPDATE
} = FrameType

/** The frames of a client behind preface and settings, and the answer of the server. */
interface Row {
  readonly sends: readonly Uint8Array[]
  readonly answer: string
}

/** Errors of the connection: one GOAWAY, and nothing is handled any more. */
const CONNECTION: Readonly<Record<string, Row>> = {
  'DATA on stream 0': { sends: [frame(DATA, 0, 0, [1])], answer: 'PROTOCOL_ERROR' },
  'HEADERS on stream 0': { sends: [headers(0)], answer: 'PROTOCOL_ERROR' },
  'PRIORITY on stream 0': { sends: [frame(PRIORITY, 0, 0, [0, 0, 0, 0, 0])], answer: 'PROTOCOL_ERROR' },
  'RST_STREAM on stream 0': { sends: [reset(0, 8)], answer: 'PROTOCOL_ERROR' },
  'CONTINUATION on stream 0': { sends: [frame(CONTINUATION, 4, 0)], answer: 'PROTOCOL_ERROR' },
  'SETTINGS on a stream': { sends: [frame(SETTINGS, 0, 1)], answer: 'PROTOCOL_ERROR' },
  'PING on a stream': { sends: [frame(PING, 0, 1, Buffer.alloc(8))], answer: 'PROTOCOL_ERROR' },
  'GOAWAY on a stream': { sends: [frame(GOAWAY, 0, 1, Buffer.alloc(8))], answer: 'PROTOCOL_ERROR' },
  'DATA of an idle stream': { sends: [data(1, 'x')], answer: 'PROTOCOL_ERROR' },
  'RST_STREAM of an idle stream': { sends: [reset(1, 8)], answer: 'PROTOCOL_ERROR' },
  'WINDOW_UPDATE of an idle stream': { sends: [windowUpdate(1, 1)], answer: 'PROTOCOL_ERROR' },
  'a stream with an even id': { sends: [headers(2)], answer: 'PROTOCOL_ERROR' },
  'a stream below an earlier one': { sends: [headers(5), headers(3)], answer: 'PROTOCOL_ERROR' },
  'PUSH_PROMISE from a client': {
    sends: [headers(1, REQUEST, OPEN), frame(PUSH_PROMISE, 4, 1, [0, 0, 0, 2])],
    answer: 'PROTOCOL_ERROR'
  },
  'CONTINUATION behind nothing': { sends: [frame(CONTINUATION, 4, 1)], answer: 'PROTOCOL_ERROR' },
  'CONTINUATION behind complete fields': {
    sends: [headers(1, REQUEST, OPEN), frame(CONTINUATION, 4, 1)],
    answer: 'PROTOCOL_ERROR'
  },
  'CONTINUATION of another stream': {
    sends: [frame(HEADERS, 0, 1, block(...REQUEST)), frame(CONTINUATION, 4, 3)],
    answer: 'PROTOCOL_ERROR'
  },
  'another frame within fields': {
    sends: [frame(HEADERS, 0, 1, block(...REQUEST)), ping(1)],
    answer: 'PROTOCOL_ERROR'
  },
  'a frame of an unknown type within fields': {
    sends: [frame(HEADERS, 0, 1, block(...REQUEST)), frame(0xbe, 0, 1)],
    answer: 'PROTOCOL_ERROR'
  },
  'an increment of 0 for the connection': { sends: [windowUpdate(0, 0)], answer: 'PROTOCOL_ERROR' },
  'a window of the connection above 2^31-1': {
    sends: [windowUpdate(0, 2 ** 31 - 1)],
    answer: 'FLOW_CONTROL_ERROR'
  },
  'an initial window above 2^31-1': { sends: [settings([4, 2 ** 31])], answer: 'FLOW_CONTROL_ERROR' },
  'settings that make a stream’s window too large': {
    sends: [headers(1, REQUEST, OPEN), windowUpdate(1, 2 ** 31 - 1 - 65_535), settings([4, 65_536])],
    answer: 'FLOW_CONTROL_ERROR'
  },
  'a frame size below 16,384': { sends: [settings([5, 16_383])], answer: 'PROTOCOL_ERROR' },
  'a frame size above 2^24-1': { sends: [settings([5, 2 ** 24])], answer: 'PROTOCOL_ERROR' },
  'ENABLE_PUSH above 1': { sends: [settings([2, 2])], answer: 'PROTOCOL_ERROR' },
  'a frame above 16,384 bytes': { sends: [frame(DATA, 0, 1, [], 16_385)], answer: 'FRAME_SIZE_ERROR' },
  'SETTINGS of 5 bytes': { sends: [frame(SETTINGS, 0, 0, [0, 0, 0, 0, 0])], answer: 'FRAME_SIZE_ERROR' },
  'an answer to SETTINGS with content': {
    sends: [frame(SETTINGS, Flag.ACK, 0, [0, 0, 0, 0, 0, 0])],
    answer: 'FRAME_SIZE_ERROR'
  },
  'PING of 7 bytes': { sends: [frame(PING, 0, 0, Buffer.alloc(7))], answer: 'FRAME_SIZE_ERROR' },
  'RST_STREAM of 3 bytes': {
    sends: [headers(1, REQUEST, OPEN), frame(RST_STREAM, 0, 1, [0, 0, 0])],
    answer: 'FRAME_SIZE_ERROR'
  },
  'WINDOW_UPDATE of 3 bytes': { sends: [frame(WINDOW_UPDATE, 0, 0, [0, 0, 0])], answer: 'FRAME_SIZE_ERROR' },
  'GOAWAY of 7 bytes': { sends: [frame(GOAWAY, 0, 0, Buffer.alloc(7))], answer: 'FRAME_SIZE_ERROR' },
  'HEADERS too short for their priority': {
    sends: [frame(HEADERS, 4 | Flag.PRIORITY, 1, [0, 0])],
    answer: 'FRAME_SIZE_ERROR'
  },
  'padded DATA without a length': {
    sends: [headers(1, REQUEST, OPEN), frame(DATA, Flag.PADDED, 1)],
    answer: 'FRAME_SIZE_ERROR'
  },
  'DATA with padding as long as the frame': {
    sends: [headers(1, REQUEST, OPEN), frame(DATA, Flag.PADDED, 1, [2, 0])],
    answer: 'PROTOCOL_ERROR'
  },
  'HEADERS with padding longer than the frame': {
    sends: [frame(HEADERS, 4 | Flag.PADDED, 1, [9, 0, 0])],
    answer: 'PROTOCOL_ERROR'
  },
  'fields that HPACK does not have': { sends: [frame(HEADERS, 5, 1, [0x80])], answer: 'COMPRESSION_ERROR' },
  'PRIORITY of an idle stream that depends on itself': {
    sends: [frame(PRIORITY, 0, 1, [0, 0, 0, 1, 0])],
    answer: 'PROTOCOL_ERROR'
  },
  'PRIORITY of an idle stream of 4 bytes': {
    sends: [frame(PRIORITY, 0, 1, [0, 0, 0, 0])],
    answer: 'FRAME_SIZE_ERROR'
  },
  'fields above the limit in many frames': {
    sends: [
      frame(HEADERS, 0, 1, Buffer.alloc(16_000)),
      ...Array.from({ length: 4 }, () => frame(CONTINUATION, 0, 1, Buffer.alloc(16_000)))
    ],
    answer: 'ENHANCE_YOUR_CALM'
  },
  'CONTINUATION without end': {
    sends: [frame(HEADERS, 0, 1), ...Array.from({ length: 33 }, () => frame(CONTINUATION, 0, 1))],
    answer: 'ENHANCE_YOUR_CALM'
  }
}

/** Errors of one stream: RST_STREAM, and the connection goes on. */
const STREAM: Readonly<Record<string, Row>> = {
  'an increment of 0': {
    sends: [headers(1, REQUEST, OPEN), windowUpdate(1, 0)],
    answer: 'RST_STREAM 1 PROTOCOL_ERROR'
  },
  'a window above 2^31-1': {
    sends: [headers(1, REQUEST, OPEN), windowUpdate(1, 2 ** 31 - 1)],
    answer: 'RST_STREAM 1 FLOW_CONTROL_ERROR'
  },
  'a stream that depends on itself': {
    sends: [frame(HEADERS, 5 | Flag.PRIORITY, 1, [0, 0, 0, 1, 9, ...block(...REQUEST)])],
    answer: 'RST_STREAM 1 PROTOCOL_ERROR'
  },
  'PRIORITY of 4 bytes': {
    sends: [headers(1, REQUEST, OPEN), frame(PRIORITY, 0, 1, [0, 0, 0, 0])],
    answer: 'RST_STREAM 1 FRAME_SIZE_ERROR'
  },
  'DATA behind the end': {
    sends: [headers(1), data(1, 'x')],
    answer: 'RST_STREAM 1 STREAM_CLOSED'
  },
  'HEADERS behind the end': {
    sends: [headers(1), headers(1, [['x', 'y']])],
    answer: 'RST_STREAM 1 STREAM_CLOSED'
  },
  'DATA behind a cancellation': {
    sends: [headers(1, REQUEST, OPEN), reset(1, 8), data(1, 'x')],
    answer: 'RST_STREAM 1 STREAM_CLOSED'
  },
  'fields within a message': {
    sends: [headers(1, REQUEST, OPEN), headers(1, [['x', 'y']], OPEN)],
    answer: 'RST_STREAM 1 PROTOCOL_ERROR'
  },
  'trailers with a pseudo field': {
    sends: [headers(1, REQUEST, OPEN), headers(1, [[':path', '/']])],
    answer: 'RST_STREAM 1 PROTOCOL_ERROR'
  },
  'more data than the content-length': {
    sends: [headers(1, [...REQUEST, ['content-length', '1']], OPEN), data(1, 'xy')],
    answer: 'RST_STREAM 1 PROTOCOL_ERROR'
  },
  'less data than the content-length': {
    sends: [headers(1, [...REQUEST, ['content-length', '3']], OPEN), data(1, 'xy', true)],
    answer: 'RST_STREAM 1 PROTOCOL_ERROR'
  },
  'less data than the content-length, before trailers': {
    sends: [headers(1, [...REQUEST, ['content-length', '3']], OPEN), data(1, 'xy'), headers(1, [['x', 'y']])],
    answer: 'RST_STREAM 1 PROTOCOL_ERROR'
  },
  'too many fields': {
    sends: [headers(1, [...REQUEST, ...Array.from({ length: 300 }, () => ['a', 'b'] as const)])],
    answer: 'RST_STREAM 1 ENHANCE_YOUR_CALM'
  }
}

/** The request with another value of a field. */
const changed = (name: string, value: string) =>
  REQUEST.map((field) => (field[0] === name ? ([name, value] as const) : field))

/** Requests that must be refused, by their fields. */
const REQUESTS: Readonly<Record<string, readonly (readonly [string, string])[]>> = {
  'a name in upper case': [...REQUEST, ['X-Test', 'a']],
  'an unknown pseudo field': [...REQUEST, [':test', 'a']],
  'a pseudo field of responses': [...REQUEST, [':status', '200']],
  'a pseudo field behind others': [['x', 'y'], ...REQUEST],
  'a pseudo field twice': [...REQUEST, [':path', '/']],
  'no method': REQUEST.slice(1),
  'no scheme': REQUEST.filter(([name]) => name !== ':scheme'),
  'no path': REQUEST.filter(([name]) => name !== ':path'),
  'an empty path': changed(':path', ''),
  'a field of the connection': [...REQUEST, ['connection', 'close']],
  'te other than trailers': [...REQUEST, ['te', 'gzip']],
  'a line feed': [...REQUEST, ['x', 'a\nb']],
  'two content-lengths': [...REQUEST, ['content-length', '1'], ['content-length', '2']],
  'a content-length that is no number': [...REQUEST, ['content-length', '-1']],
  'CONNECT with a path': changed(':method', 'CONNECT')
}

describe('a server ends the connection because of', () => {
  for (const [name, { sends, answer }] of Object.entries(CONNECTION))
    it(name, () => {
      const end = new ServerEnd()
      end.receives(...sends)
      assert.match(end.answers().at(-1) ?? '', new RegExp(`^GOAWAY \\d+ ${answer}$`))
      assert.equal((end.output.ended as Error).name, 'ConnectionFault')
      // Nothing is handled behind the error, however many bytes come.
      const { length } = end.requests
      end.receives(headers(101), ping(1))
      assert.deepEqual([end.sent(), end.requests.length, end.connection.buffered], [[], length, 0])
    })

  it('anything but SETTINGS behind the preface', () => {
    for (const first of [headers(1), ping(1), frame(SETTINGS, Flag.ACK, 0), windowUpdate(0, 1)]) {
      const end = new ServerEnd({}, false)
      end.receives(PREFACE_BYTES, first)
      assert.deepEqual(end.answers(), ['GOAWAY 0 PROTOCOL_ERROR'])
    }
  })

  it('a preface that is none', () => {
    const end = new ServerEnd({}, false)
    end.receives(Buffer.from('GET / HTTP/1.1\r\nhost: here\r\n\r\n'))
    assert.deepEqual(end.answers(), ['GOAWAY 0 PROTOCOL_ERROR'])
    assert.match(String(end.output.ended), /does not speak HTTP\/2/)
  })

  it('frames for a stream that is answered and done', () => {
    for (const late of [data(1, 'x'), headers(1, [['x', 'y']])]) {
      const end = new ServerEnd()
      end.onRequest = (stream) => stream.fields([':status', '200'], true)
      end.receives(headers(1), late)
      assert.deepEqual(end.answers(), ['HEADERS 1 end :status=200', 'GOAWAY 1 STREAM_CLOSED'])
    }
  })
})

describe('a server resets a stream, and goes on, because of', () => {
  const rows = Object.entries(STREAM)
  const requests = Object.entries(REQUESTS).map(
    ([name, fields]) =>
      [
        `a request with ${name}`,
        { sends: [headers(1, fields)], answer: 'RST_STREAM 1 PROTOCOL_ERROR' }
      ] as const
  )
  for (const [name, { sends, answer }] of [...rows, ...requests])
    it(name, () => {
      const end = new ServerEnd()
      end.receives(...sends)
      assert.deepEqual(end.answers(), [answer])
      end.receives(data(1, 'ignored'), headers(3), ping(1))
      assert.deepEqual(end.answers(), ['PING ack 0101010101010101'])
      assert.equal(end.requests.at(-1)?.stream.id, 3)
      assert.deepEqual([end.output.ended, end.connection.inFlight], [undefined, 1])
    })

  it('data beyond the window of the stream', () => {
    const end = new ServerEnd({ streamWindow: 65_535 })
    end.receives(headers(1, REQUEST, OPEN))
    const recorder = end.requests[0]!.recorder
    recorder.consumes = false
    for (let at = 0; at < 4; at++) end.receives(data(1, Buffer.alloc(16_384)))
    assert.deepEqual(end.answers(), ['RST_STREAM 1 FLOW_CONTROL_ERROR'])
    assert.equal(recorder.received, 3 * 16_384)
    assert.equal(recorder.events.at(-1), 'reset FLOW_CONTROL_ERROR')
  })

  it('more streams than its limit allows', () => {
    const end = new ServerEnd({ streams: 2 })
    end.receives(headers(1), headers(3), headers(5), data(5, 'ignored'))
    assert.deepEqual(end.answers(), ['RST_STREAM 5 REFUSED_STREAM'])
    end.requests[0]!.stream.fields([':status', '200'], true)
    end.receives(headers(7))
    assert.deepEqual(
      end.requests.map(({ stream }) => stream.id),
      [1, 3, 7]
    )
  })
})

describe('a server ignores', () => {
  const ignored: Readonly<Record<string, readonly Uint8Array[]>> = {
    'a frame of an unknown type': [frame(0xbe, 0xff, 7, [1, 2, 3])],
    'settings that it does not know': [settings([0xfe, 1])],
    'unknown flags': [frame(PING, 0xfe, 0, Buffer.alloc(8))],
    'a cancellation of a stream that is done': [headers(1), reset(1, 8), reset(1, 8)],
    'a window of a stream that is done': [headers(1), reset(1, 8), windowUpdate(1, 1)],
    'PRIORITY of any stream': [frame(PRIORITY, 0, 99, [0, 0, 0, 7, 1])]
  }
  for (const [name, sends] of Object.entries(ignored))
    it(name, () => {
      const end = new ServerEnd()
      end.receives(...sends, headers(101))
      assert.deepEqual(
        end.answers().filter((one) => !one.startsWith('PING')),
        []
      )
      assert.equal(end.requests.at(-1)?.stream.id, 101)
    })
})

/** The frames of a server to a client that has sent the request 1, and the answer of the client. */
const CLIENT: Readonly<Record<string, Row>> = {
  PUSH_PROMISE: { sends: [frame(PUSH_PROMISE, 4, 1, [0, 0, 0, 2])], answer: 'GOAWAY 0 PROTOCOL_ERROR' },
  'ENABLE_PUSH of 1': { sends: [settings([2, 1])], answer: 'GOAWAY 0 PROTOCOL_ERROR' },
  'a response to a request that was not sent': {
    sends: [headers(3, [[':status', '200']])],
    answer: 'GOAWAY 0 PROTOCOL_ERROR'
  },
  'a stream of the server': { sends: [headers(2, [[':status', '200']])], answer: 'GOAWAY 0 PROTOCOL_ERROR' },
  'data before the response': { sends: [data(1, 'x')], answer: 'RST_STREAM 1 PROTOCOL_ERROR' },
  'a response without a status': { sends: [headers(1, [['x', 'y']])], answer: 'RST_STREAM 1 PROTOCOL_ERROR' },
  'a response with a pseudo field of requests': {
    sends: [
      headers(1, [
        [':status', '200'],
        [':path', '/']
      ])
    ],
    answer: 'RST_STREAM 1 PROTOCOL_ERROR'
  },
  'a status of two digits': {
    sends: [headers(1, [[':status', '20']])],
    answer: 'RST_STREAM 1 PROTOCOL_ERROR'
  },
  'a response that ends with 100': {
    sends: [headers(1, [[':status', '100']])],
    answer: 'RST_STREAM 1 PROTOCOL_ERROR'
  },
  'a response of another length than it says': {
    sends: [
      headers(
        1,
        [
          [':status', '200'],
          ['content-length', '2']
        ],
        OPEN
      ),
      data(1, 'x', true)
    ],
    answer: 'RST_STREAM 1 PROTOCOL_ERROR'
  },
  'a table that it may not have': {
    sends: [frame(HEADERS, 5, 1, [0x3f, 0xe2, 0x1f])],
    answer: 'GOAWAY 0 COMPRESSION_ERROR'
  },
  'a reason of GOAWAY that is cut': {
    sends: [frame(GOAWAY, 0, 0, [...uint32(0), 0])],
    answer: 'GOAWAY 0 FRAME_SIZE_ERROR'
  }
}

describe('a client fails a call, and only once, because of', () => {
  for (const [name, { sends, answer }] of Object.entries(CLIENT))
    it(name, () => {
      const end = new ClientEnd()
      const call = end.request()
      end.sent()
      end.receives(...sends)
      assert.deepEqual(end.answers(), [answer])
      assert.equal(call.events.filter((one) => one.startsWith('reset')).length, 1)
      const { length } = call.events
      end.connection.close()
      assert.equal(call.events.length, length)
    })
})

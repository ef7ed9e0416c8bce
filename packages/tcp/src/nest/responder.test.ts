/** Tests the answering end of Nest's wire, without a socket. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Admission, NO_LIMITS, type SharedLimits } from '@elysia-microservices/rsocket'
import {
  FakeOutput,
  type Handlers,
  RecordingLogger,
  RouteDispatcher,
  turn
} from '@elysia-microservices/rsocket/testing'
import { RpcError } from '@elysia-microservices/transport/kit'
import { Subject } from 'rxjs'
import { encodeFrame, NestFrameDecoder } from './frame.ts'
import { LeftEvents } from './left-events.ts'
import { NestResponder } from './responder.ts'
import { PatternReader } from './route.ts'

function responding(handlers: Handlers = {}, limits: Partial<SharedLimits> = {}, maxBufferSize = 1_000) {
  const dispatcher = new RouteDispatcher(handlers)
  const logger = new RecordingLogger()
  const output = new FakeOutput()
  const responder = new NestResponder({
    ...{ dispatcher, logger, output },
    maxBufferSize,
    patterns: new PatternReader(),
    limits: { ...NO_LIMITS, ...limits },
    left: new LeftEvents(limits.admission, maxBufferSize, logger)
  })
  output.adopt(responder)
  /** Passes packets to the responder in one chunk; returns the packets that it has sent. */
  const on = (...packets: unknown[]): string[] => {
    responder.receive(Buffer.from(packets.map((packet) => encodeFrame(JSON.stringify(packet))).join('')))
    return sent()
  }
  /** Returns the packets that were sent since the last call. */
  const sent = (): string[] => {
    const decoder = new NestFrameDecoder(1_000_000)
    decoder.push(Buffer.from(output.text))
    output.text = ''
    const packets: string[] = []
    for (let json = decoder.next(); json !== undefined; json = decoder.next()) packets.push(json)
    return packets
  }
  /** Lets promises settle; returns the packets that the responder has sent. */
  const later = async (): Promise<string[]> => {
    await turn()
    return sent()
  }
  return { ...{ dispatcher, logger, output, responder }, ...{ on, sent, later } }
}

const answer = (value: unknown, id: unknown) =>
  `{"response":${JSON.stringify(value)},"isDisposed":true,"id":${JSON.stringify(id)}}`

describe("a request on Nest's wire", () => {
  it('is answered with its id, whatever that is, in the order of the requests', () => {
    const { on, responder, dispatcher } = responding()
    const ids = ['1', 7, null, { a: 1 }]
    assert.deepEqual(
      on(...ids.map((id, data) => ({ pattern: 'echo', data, id }))),
      ids.map((id, data) => answer(data, id))
    )
    assert.deepEqual(on({ pattern: 'echo', id: '1' }), ['{"isDisposed":true,"id":"1"}'])
    for (const { pattern, route } of dispatcher.requests) assert.deepEqual([pattern, route], ['echo', 'echo'])
    assert.deepEqual([responder.inFlight, responder.incomplete, responder.buffered], [0, false, 0])
  })

  it('comes to its handler with all that the caller sent', () => {
    const { on, dispatcher, output } = responding({ '{"cmd":"all"}': () => 'found' })
    output.remote = { remoteAddress: '10.0.0.7', remotePort: 5_000 }
    const packet = { pattern: { cmd: 'all' }, data: [1], metadata: { tenant: 'a' }, id: '1' }
    assert.deepEqual(on(packet), [answer('found', '1')])
    const [message] = dispatcher.requests
    assert.ok(message)
    const { transport, kind, pattern, data, headers, peer } = message
    assert.deepEqual(
      [transport, kind, pattern, data, headers],
      ['tcp', 'request', '{"cmd":"all"}', [1], { tenant: 'a' }]
    )
    assert.deepEqual([peer?.address, peer?.port, peer?.caller], ['10.0.0.7', 5_000, undefined])
  })

  it('that takes longer is in flight until it is answered, and holds nobody up', async () => {
    const ends: ((value: unknown) => void)[] = []
    const { on, later, responder, output } = responding({
      wait: () => new Promise((resolve) => ends.push(resolve))
    })
    const sent = on(
      { pattern: 'wait', id: '1' },
      { pattern: 'wait', id: '2' },
      { pattern: 'echo', data: 0, id: '3' }
    )
    assert.deepEqual(sent, [answer(0, '3')])
    assert.equal(responder.inFlight, 2)
    ends[1]?.(5)
    assert.deepEqual(await later(), [answer(5, '2')])
    assert.deepEqual([responder.inFlight, responder.streams, output.settlements], [1, 0, 1])
  })

  it('that fails is answered with what its handler says, or with next to nothing', async () => {
    const { on, later, logger } = responding({
      told: () => {
        throw new RpcError({ code: 'E', message: 'm' })
      },
      bug: async () => {
        throw new Error('secret')
      },
      bigint: () => 5n,
      odd: () =>
        new Proxy(
          {},
          {
            has() {
              throw new Error('a trap')
            }
          }
        )
    })
    const failure = (id: string) =>
      `{"err":{"status":"error","message":"Internal server error"},"isDisposed":true,"id":"${id}"}`
    assert.deepEqual(on({ pattern: 'told', id: '1' }), [
      '{"err":{"status":"error","code":"E","message":"m"},"isDisposed":true,"id":"1"}'
    ])
    assert.deepEqual(on({ pattern: 'bug', id: '2' }), [])
    assert.deepEqual(await later(), [failure('2')])
    assert.deepEqual(on({ pattern: 'bigint', id: '3' }), [failure('3')])
    assert.deepEqual(on({ pattern: 'odd', id: '4' }), [failure('4')])
    assert.equal(logger.lines.length, 3)
    assert.deepEqual(on({ pattern: 'nobody', id: '5' }, { data: 1, id: '6' }), [
      ...['5', '6'].map(
        (id) =>
          `{"id":"${id}","status":"error","err":"There is no matching message handler defined in the remote service."}`
      )
    ])
  })

  it('whose data is nested too deeply is refused alone', () => {
    const nested = (levels: number): unknown => {
      let value: unknown = []
      for (let level = 1; level < levels; level++) value = [value]
      return value
    }
    const { on, dispatcher, logger } = responding({}, {}, 10_000)
    const [refused, answered] = on(
      { pattern: 'echo', data: nested(1_001), id: '1' },
      { pattern: 'echo', data: nested(1_000), id: '2' }
    )
    assert.match(String(refused), /"code":"VALIDATION".*at most 1000 levels.*"id":"1"}$/)
    assert.equal(answered, answer(nested(1_000), '2'))
    assert.deepEqual([dispatcher.requests.length, logger.lines], [1, []])
    for (const packet of [
      { pattern: 'echo', data: nested(1_001) },
      { pattern: 'echo', id: nested(1_001) }
    ])
      assert.throws(() => on(packet), { name: 'ProtocolError', message: /at most 1000 levels/ })
  })

  it('without a pattern and data is no request, and gets no answer', () => {
    const { on, dispatcher } = responding()
    assert.deepEqual(on({ id: '1' }, 5, null, 'text', []), [])
    assert.deepEqual(
      dispatcher.events.map(({ pattern, route, kind }) => [pattern, route, kind]),
      Array.from({ length: 5 }, () => ['undefined', undefined, 'event'])
    )
    assert.equal(dispatcher.requests.length, 0)
  })
})

describe("an event on Nest's wire", () => {
  it('gets no answer, and is in flight until its handlers have ended', async () => {
    let end = () => {}
    const { on, later, responder, dispatcher, output } = responding({
      slow: () => new Promise<void>((resolve) => (end = resolve))
    })
    assert.deepEqual(on({ pattern: 'slow', data: 1 }, { pattern: 'echo', data: 2 }), [])
    assert.deepEqual(
      dispatcher.events.map(({ data, kind }) => [data, kind]),
      [
        [1, 'event'],
        [2, 'event']
      ]
    )
    assert.deepEqual([responder.inFlight, output.settlements], [1, 1])
    end()
    assert.deepEqual(await later(), [])
    assert.deepEqual([responder.inFlight, output.settlements], [0, 2])
  })
})

describe("streams on Nest's wire", () => {
  const value = (number: number, id: string) => `{"response":${number},"id":"${id}"}`

  it('send the values of a turn when it is over, each stream its own', async () => {
    const subjects = [new Subject<number>(), new Subject<number>()]
    const { on, sent, later, responder } = responding({ stream: ({ data }) => subjects[data as number] })
    on({ pattern: 'stream', data: 0, id: '1' }, { pattern: 'stream', data: 1, id: '2' })
    assert.deepEqual([responder.streams, responder.inFlight], [2, 2])
    for (let round = 0; round < 2; round++) {
      for (const subject of subjects) subject.next(round)
      assert.deepEqual(sent(), [])
      assert.deepEqual(await later(), [value(round, '1'), value(round, '2')])
    }
    subjects[0]?.complete()
    assert.deepEqual(sent(), ['{"isDisposed":true,"id":"1"}'])
    assert.deepEqual([responder.streams, responder.inFlight], [1, 1])
  })

  it('are refused where there are as many as a connection may have, until one has ended', () => {
    const refusals: string[] = []
    const subjects: Subject<number>[] = []
    const stream = () => {
      const subject = new Subject<number>()
      subjects.push(subject)
      return subject
    }
    const { on, sent, responder } = responding(
      { stream },
      { maxStreams: 2, refused: (what, message) => void refusals.push(`${what}: ${message}`) }
    )
    const ask = (id: string) => on({ pattern: 'stream', id })
    assert.deepEqual([ask('1'), ask('2')], [[], []])
    const reason = 'The connection has as many streams as limits.streams allows (2)'
    const [refused] = ask('3')
    assert.match(String(refused), /^{"err":.*limits\.streams allows \(2\).*"isDisposed":true,"id":"3"}$/)
    assert.deepEqual(refusals, [`streams: ${reason}`])
    assert.deepEqual([responder.streams, responder.inFlight], [2, 2])
    subjects[0]?.complete()
    assert.deepEqual(sent(), ['{"isDisposed":true,"id":"1"}'])
    assert.deepEqual([responder.streams, ask('4'), responder.streams], [1, [], 2])
    assert.equal(refusals.length, 1)
  })

  it('make no more values than the connection has room for', () => {
    let made = 0
    const { on, output, responder } = responding({
      *count() {
        while (true) yield ++made
      }
    })
    output.hasRoom = false
    on({ pattern: 'count', id: '1' })
    assert.deepEqual([made, output.waiting.length], [0, 1])
    responder.close()
  })
})

describe("packets on Nest's wire that cannot be handled yet", () => {
  it('wait while the peer does not read its answers, and are handled when it does', () => {
    const { on, sent, responder, output } = responding()
    output.isBlocked = true
    assert.deepEqual(on({ pattern: 'echo', data: 1, id: '1' }, { pattern: 'echo', data: 2, id: '2' }), [])
    assert.equal(responder.isHeldBack, false)
    output.isBlocked = false
    responder.resume()
    assert.deepEqual(sent(), [answer(1, '1'), answer(2, '2')])
  })

  it('wait only as far as limits.receiveBuffer allows', () => {
    const { on, responder, output } = responding()
    output.isBlocked = true
    responder.receive(Buffer.from(encodeFrame('"'.padEnd(990))))
    assert.throws(() => on({ pattern: 'echo', data: 'more', id: '2' }), {
      name: 'PayloadTooLargeError',
      option: 'limits.receiveBuffer'
    })
    responder.discard()
    assert.deepEqual([responder.buffered, responder.incomplete], [0, false])
  })

  it('wait while the server has no room, once for all, and go on one by one', async () => {
    const admission = new Admission({
      ...{ maxInFlight: 1, adaptive: undefined },
      now: () => 0,
      afterTurn() {}
    })
    const { on, sent, later, responder } = responding({}, { admission })
    admission.began()
    assert.deepEqual(on(), [])
    assert.deepEqual([responder.isHeldBack, admission.waiting], [false, 0])
    on({ pattern: 'echo', data: 1, id: '1' })
    on({ pattern: 'echo', data: 2, id: '2' })
    assert.deepEqual([sent(), responder.isHeldBack, admission.waiting], [[], true, 1])
    admission.ended()
    assert.deepEqual(await later(), [answer(1, '1'), answer(2, '2')])
    assert.deepEqual([responder.isHeldBack, admission.waiting], [false, 0])
    admission.began()
    assert.deepEqual([on({ pattern: 'echo', data: 3, id: '3' }), responder.isHeldBack], [[], true])
    admission.ended()
    assert.deepEqual(await later(), [answer(3, '3')])
  })

  it('are forgotten with their connection, and nobody is called for it when there is room', async () => {
    const admission = new Admission({
      ...{ maxInFlight: 1, adaptive: undefined },
      now: () => 0,
      afterTurn() {}
    })
    const { on, later, responder, output } = responding({}, { admission })
    admission.began()
    on({ pattern: 'echo', data: 1, id: '1' })
    let resumed = 0
    output.goOn = () => void resumed++
    responder.close()
    admission.ended()
    assert.deepEqual(await later(), [])
    assert.equal(resumed, 0)
  })

  it('are handled when there is room, if they are events, although their client has closed the connection', async () => {
    const admission = new Admission({
      ...{ maxInFlight: 1, adaptive: undefined },
      now: () => 0,
      afterTurn() {}
    })
    const { on, responder, dispatcher, later } = responding({}, { admission })
    admission.began()
    on({ pattern: 'paid', data: 1 }, { pattern: 'echo', data: 2, id: '1' }, { pattern: 'paid', data: 3 })
    responder.left()
    responder.discard()
    assert.deepEqual(dispatcher.events, [])
    admission.ended()
    assert.deepEqual(await later(), [])
    assert.deepEqual(
      dispatcher.events.map(({ data }) => data),
      [1, 3]
    )
    assert.equal(dispatcher.requests.length, 0)
  })

  it('are dropped with a line in the log, if closed connections leave more than one connection may have waiting', () => {
    const admission = new Admission({
      ...{ maxInFlight: 1, adaptive: undefined },
      now: () => 0,
      afterTurn() {}
    })
    const logger = new RecordingLogger()
    const left = new LeftEvents(admission, 10, logger)
    admission.began()
    const frames = new NestFrameDecoder(1_000)
    frames.push(Buffer.from(encodeFrame('{"pattern":"paid","data":1}')))
    left.take({ frames, handle: () => assert.fail('it is not handled') })
    assert.match(logger.lines.join(), /Events of closed connections are dropped/)
  })
})

describe("the end of a connection on Nest's wire", () => {
  it('stops all that runs, without a word, and handles no more of what has come', async () => {
    const subject = new Subject<number>()
    let answerLate: (value: unknown) => void = () => {}
    const { on, later, responder, dispatcher } = responding({
      wait: () => new Promise((resolve) => (answerLate = resolve)),
      stream: () => subject,
      end: () => {
        subject.next(1)
        responder.close()
        return 'too late'
      }
    })
    on({ pattern: 'wait', id: '1' }, { pattern: 'stream', id: '2' })
    const signals = dispatcher.requests.map(({ signal }) => signal)
    assert.deepEqual(on({ pattern: 'end', id: '3' }, { pattern: 'echo', data: 1, id: '4' }), [])
    answerLate(5)
    subject.next(2)
    assert.deepEqual(await later(), [])
    assert.equal(dispatcher.requests.length, 3)
    assert.deepEqual(
      signals.map(({ aborted }) => aborted),
      [true, true]
    )
    assert.deepEqual([responder.inFlight, responder.streams, subject.observed], [0, 0, false])
  })

  it('is brought about by a handler that disconnects its peer', () => {
    const { on, output } = responding({ leave: ({ peer }) => peer?.disconnect() })
    on({ pattern: 'leave', id: '1' })
    assert.equal(output.destroyed, true)
  })
})

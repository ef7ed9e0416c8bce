/** Tests how a server handles requests: which it accepts, what it answers, and when a request has ended. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  ByteWriter,
  type Codec,
  type IncomingMessage,
  openCodec,
  RpcError
} from '@elysia-microservices/transport/kit'
import { Subject } from 'rxjs'
import { NO_LIMITS, type SharedLimits } from '../limits/server-limits.ts'
import {
  cancel,
  channel,
  entry,
  error,
  event,
  frame,
  headersEntry,
  metadata,
  payload,
  request,
  requestN,
  routeEntry,
  setup,
  stream,
  uint32
} from '../testing/rsocket-frames.ts'
import { type Handlers, newRsocketServer, rsocketServer, turn } from '../testing/rsocket-peer.ts'

const MSGPACK = 'application/x-msgpack'
const JSON_TYPE = 0x85
const BYTES_TYPE = 0x86

/** Makes limits that record the refusals. */
function limitsOf(change: Partial<SharedLimits>): { limits: SharedLimits; refused: string[] } {
  const refused: string[] = []
  const limits = {
    ...NO_LIMITS,
    refused: (what: string, why: string) => void refused.push(`${what}: ${why}`),
    ...change
  }
  return { limits, refused }
}

/** Makes a promise that the test resolves. */
function held<Value>() {
  let keep: (value: Value) => void = () => {}
  const promise = new Promise<Value>((resolve) => {
    keep = resolve
  })
  return { promise, keep }
}

const never: Handlers[string] = () => new Promise(() => {})

/** Collects all values of a channel. */
async function listOf(data: unknown): Promise<unknown[]> {
  const values: unknown[] = []
  for await (const value of data as AsyncIterable<unknown>) values.push(value ?? 'no value')
  return values
}

/** Makes a request that tells how long its caller waits. */
const timed = (type: string, streamId: number, name: string, timeout: number) =>
  frame(
    streamId,
    type,
    'M',
    ...(type === 'REQUEST_RESPONSE' ? [] : [uint32(9)]),
    metadata(routeEntry(name), headersEntry({ 'elysia-timeout': String(timeout) })),
    '1'
  )

describe('which requests a server takes', () => {
  it('are no streams beyond limits.streams, which says so, until one has ended', () => {
    const { limits, refused } = limitsOf({ maxStreams: 2 })
    const server = rsocketServer({ never }, { limits })
    assert.equal(server.connection.streams, 0)
    server.on(stream(1, 'never', 1, '1'), channel(3, 'never', 1, '1'), request(5, 'never', '1'))
    assert.deepEqual([server.connection.streams, server.connection.inFlight], [2, 3])
    const reason = 'The connection has as many streams as limits.streams allows (2)'
    assert.deepEqual(
      server.on(stream(7, 'never', 1, '1'), channel(9, 'never', 1, '1'), request(11, 'echo', '1')),
      [`ERROR 7 0x202 ${reason}`, `ERROR 9 0x202 ${reason}`, 'PAYLOAD 11 CN 1']
    )
    assert.deepEqual(refused, [`streams: ${reason}`, `streams: ${reason}`])
    server.on(cancel(1))
    assert.equal(server.connection.streams, 1)
    assert.deepEqual(server.on(stream(13, 'never', 1, '1')), [])
    assert.equal(server.connection.streams, 2)
    assert.equal(server.dispatcher.requests.length, 5)
  })

  it('have as much metadata as limits.headerSize allows, and no more', () => {
    const size = routeEntry('echo').length
    const { limits, refused } = limitsOf({ maxHeaderSize: size })
    const server = rsocketServer({ echoes: never }, { limits })
    const reason = `The metadata of the request has ${size + 2} bytes; limits.headerSize allows ${size}`
    assert.deepEqual(server.on(request(1, 'echo', '1'), request(3, 'echoes', '1'), event(5, 'echoes', '1')), [
      'PAYLOAD 1 CN 1',
      `ERROR 3 0x204 ${reason}`
    ])
    assert.deepEqual(refused, [`headers: ${reason}`, `headers: ${reason}`])
    assert.deepEqual([server.dispatcher.requests.length, server.dispatcher.events.length], [1, 0])
  })

  it('are no more than may be in flight, events among them, and those beyond are counted', async () => {
    const { limits, refused } = limitsOf({ maxInFlight: 2 })
    const { promise, keep } = held<void>()
    const server = rsocketServer({ never, later: () => promise }, { limits })
    const reason = 'The connection has as many requests in flight as limits.inFlightPerConnection allows (2)'
    assert.deepEqual(server.on(event(1, 'later', '1'), request(3, 'never', '1'), request(5, 'echo', '1')), [
      `ERROR 5 0x202 ${reason}`
    ])
    assert.deepEqual(server.on(event(7, 'later', '1')), [], 'an event has no answer')
    assert.equal(server.dispatcher.events.length, 1)
    assert.deepEqual(refused, [`requests: ${reason}`, `requests: ${reason}`])
    keep()
    await turn()
    assert.equal(server.connection.inFlight, 1)
    assert.deepEqual(server.on(request(9, 'echo', '1')), ['PAYLOAD 9 CN 1'])
  })

  it('have data that can be read: the log has what nobody is told, that of an event', () => {
    const server = rsocketServer()
    assert.match(server.on(request(1, 'echo', '{'))[0] ?? '', /^ERROR 1 0x204 /)
    assert.deepEqual(server.logger.lines, [])
    assert.deepEqual(server.on(event(3, 'echo', '{')), [])
    assert.deepEqual(server.logger.lines, ["The data of the event 'echo' cannot be read"])
    assert.equal(server.dispatcher.events.length, 0)
  })
})

describe('the MIME types of a request', () => {
  const typed = (streamId: number, data: string, ...entries: Buffer[]) =>
    frame(streamId, 'REQUEST_RESPONSE', 'M', metadata(routeEntry('raw'), ...entries), data)
  const accepts = (...types: number[]) => entry(0x7b, Buffer.from(types))
  const server = () =>
    rsocketServer({ raw: ({ data }) => Buffer.from(String(data)), echo: ({ data }) => data })

  it('let it choose another one for its answer, which says so', () => {
    assert.deepEqual(server().on(typed(1, '"x"', accepts(BYTES_TYPE))), ['PAYLOAD 1 MCN {data type: 86} x'])
  })

  it('leave the answer as it was asked if that is accepted as well, or if nothing that is accepted is known', () => {
    const unknown = 0x80
    for (const accepted of [[BYTES_TYPE, JSON_TYPE], [unknown], []])
      assert.match(server().on(typed(1, '"x"', accepts(...accepted)))[0] ?? '', /^PAYLOAD 1 CN \{/)
    const first = [unknown, BYTES_TYPE]
    assert.match(server().on(typed(1, '"x"', accepts(...first)))[0] ?? '', /^PAYLOAD 1 MCN .* x$/)
  })

  it('may say once more what SETUP has said', () => {
    const out = new ByteWriter()
    out.data((openCodec(MSGPACK) as Codec).encode({ a: 1 }))
    const data = Buffer.from(out.written)
    const asked = frame(
      1,
      'REQUEST_RESPONSE',
      'M',
      metadata(routeEntry('echo'), entry(0x7a, Buffer.of(MSGPACK.length - 1), MSGPACK)),
      data
    )
    const server = newRsocketServer()
    server.connection.receive(setup({ data: MSGPACK }))
    assert.match(server.on(asked)[0] ?? '', /^PAYLOAD 1 CN /)
    assert.deepEqual(server.dispatcher.requests[0]?.data, { a: 1 })
  })
})

describe('an answer', () => {
  it('of nothing is a stream without values, but a value to who asks for one', () => {
    const server = rsocketServer({ nothing: () => undefined })
    assert.deepEqual(
      server.on(request(1, 'nothing', '1'), stream(3, 'nothing', 1, '1'), channel(5, 'nothing', 1, '1')),
      ['PAYLOAD 1 CN', 'PAYLOAD 3 C', 'REQUEST_N 5 4', 'PAYLOAD 5 C', 'CANCEL 5']
    )
    assert.deepEqual(server.on(stream(7, 'echo', 1, '2'), channel(9, 'echo1', 1, '2')).slice(0, 1), [
      'PAYLOAD 7 CN 2'
    ])
    assert.equal(server.connection.inFlight, 0)
  })

  it('comes in time, or the caller is told at its deadline, whichever of several is first', () => {
    const server = rsocketServer({ never })
    server.on(
      timed('REQUEST_RESPONSE', 1, 'never', 80),
      timed('REQUEST_RESPONSE', 3, 'never', 50),
      request(5, 'never', '1'),
      timed('REQUEST_STREAM', 7, 'never', 90)
    )
    const late = 'The deadline of the request has passed'
    assert.deepEqual(server.after(49), [])
    assert.deepEqual(server.after(1), [`ERROR 3 0x203 ${late}`])
    assert.deepEqual(server.after(29), [])
    assert.deepEqual(server.after(1), [`ERROR 1 0x203 ${late}`])
    assert.deepEqual(server.after(10), [`ERROR 7 0x203 ${late}`])
    assert.deepEqual(server.after(1_000), [])
    assert.equal(server.connection.inFlight, 1)
  })

  it('has no deadline once it is a stream that has begun, and may pause as long as it likes', () => {
    const subject = new Subject<number>()
    const server = rsocketServer({ values: () => subject })
    server.on(timed('REQUEST_STREAM', 1, 'values', 50))
    subject.next(1)
    assert.deepEqual(server.after(1_000), ['PAYLOAD 1 N 1'])
    subject.next(2)
    subject.complete()
    assert.deepEqual(server.on(), ['PAYLOAD 1 N 2', 'PAYLOAD 1 C'])
  })

  it('has no deadline once its first value has left, also if that had to wait for room', () => {
    const subject = new Subject<number>()
    const server = rsocketServer({ values: () => subject })
    server.output.hasRoom = false
    server.on(timed('REQUEST_STREAM', 1, 'values', 50))
    subject.next(1)
    server.output.hasRoom = true
    for (const stream of server.output.waiting.splice(0)) stream.resume()
    assert.deepEqual(server.after(1_000), ['PAYLOAD 1 N 1'])
  })

  it('ends with the lifetime that its caller has told, if it is a stream that has begun', () => {
    const subject = new Subject<number>()
    const seen: unknown[] = []
    const server = rsocketServer({
      values: (message) => {
        seen.push(message.signal)
        return subject
      }
    })
    const told = metadata(
      routeEntry('values'),
      headersEntry({ 'elysia-timeout': '50', 'elysia-lifetime': '900', tenant: 'a' })
    )
    server.on(frame(1, 'REQUEST_STREAM', 'M', uint32(9), told, '1'))
    subject.next(1)
    assert.deepEqual(server.after(899), ['PAYLOAD 1 N 1'])
    const late = 'The deadline of the request has passed'
    assert.deepEqual(server.after(1), [`ERROR 1 0x203 ${late}`])
    assert.deepEqual([subject.observed, (seen[0] as AbortSignal).aborted], [false, true])
    assert.equal(server.connection.inFlight, 0)
  })

  it('ends with the lifetime that its caller has told, if it never begins', () => {
    const server = rsocketServer({ never })
    const told = metadata(routeEntry('never'), headersEntry({ 'elysia-lifetime': '20' }))
    server.on(frame(1, 'REQUEST_STREAM', 'M', uint32(9), told, '1'))
    assert.deepEqual(server.after(19), [])
    assert.match(server.after(1).join(), /^ERROR 1 0x203 /)
  })

  it('has headers beside it for callers who ask for them, and for nobody else', () => {
    const subject = new Subject<number>()
    const streaming: { message?: IncomingMessage } = {}
    const server = rsocketServer({
      one({ set, data }) {
        set.headers['a'] = '1'
        set.trailers['b'] = '2'
        if (data === 'fail') throw new RpcError({ code: 'E', message: 'm' })
        return data
      },
      values(message) {
        streaming.message = message
        message.set.headers['a'] = '1'
        return subject
      }
    })
    const asking = (name: string) =>
      metadata(routeEntry(name), headersEntry({ 'elysia-answer-headers': '1' }))
    const beside = (json: object) =>
      `{application/vnd.elysia-microservices.answer-headers: ${Buffer.from(JSON.stringify(json)).toString('hex')}}`
    const both = { headers: { a: '1' }, trailers: { b: '2' } }
    assert.deepEqual(
      server.on(
        frame(1, 'REQUEST_RESPONSE', 'M', asking('one'), '5'),
        request(3, 'one', '5'),
        frame(5, 'REQUEST_RESPONSE', 'M', asking('one'), '"fail"'),
        request(7, 'one', '"fail"'),
        frame(9, 'REQUEST_STREAM', 'M', uint32(9), asking('one'))
      ),
      [
        `PAYLOAD 1 MCN ${beside(both)} 5`,
        'PAYLOAD 3 CN 5',
        `ERROR 5 0x201 +h42 ${JSON.stringify(both)}{"code":"E","message":"m"}`,
        'ERROR 7 0x201 {"code":"E","message":"m"}',
        `PAYLOAD 9 MC ${beside(both)}`
      ]
    )
    server.on(frame(11, 'REQUEST_STREAM', 'M', uint32(9), asking('values'), '1'))
    subject.next(1)
    subject.next(2)
    Object.assign((streaming.message as IncomingMessage).set.trailers, { b: '2' })
    subject.complete()
    assert.deepEqual(server.on(), [
      `PAYLOAD 11 MN ${beside({ headers: both.headers })} 1`,
      'PAYLOAD 11 N 2',
      `PAYLOAD 11 MC ${beside({ trailers: both.trailers })}`
    ])
  })

  it('that ends its own stream while it is made JSON is not sent', () => {
    const subject = new Subject<object>()
    const server = rsocketServer({ values: () => subject })
    server.on(stream(1, 'values', 9, '1'))
    subject.next({
      toJSON() {
        server.connection.receive(cancel(1))
        return 1
      }
    })
    assert.deepEqual(server.on(request(3, 'echo', '1')), ['PAYLOAD 3 CN 1'])
    assert.equal(subject.observed, false)
  })

  it('that is given up cleans up after itself; what fails then is logged', async () => {
    const server = rsocketServer({
      async *values() {
        try {
          while (true) yield 1
        } finally {
          // biome-ignore lint/correctness/noUnsafeFinally: a user's code may do this
          throw new Error('of the clean-up')
        }
      }
    })
    server.on(stream(1, 'values', 2, '1'))
    await server.later()
    server.on(cancel(1))
    assert.deepEqual(await server.later(), [])
    assert.deepEqual(server.logger.lines, ["The clean-up of a stream failed: the answer to 'values'"])
  })
})

describe('a server that drains', () => {
  it('waits for the handlers of events', async () => {
    const { promise, keep } = held<void>()
    const server = rsocketServer({ later: () => promise })
    assert.equal(server.connection.inFlight, 0)
    server.on(event(1, 'later', '1'))
    assert.equal(server.connection.inFlight, 1)
    server.connection.drain?.()
    assert.deepEqual(await server.later(), [])
    keep()
    assert.deepEqual(await server.later(), ['ERROR 0 0x102 The server is stopping'])
    assert.equal(server.connection.inFlight, 0)
  })
})

describe('an event that comes while its server drains', () => {
  it('is handled, because its sender believes that it was sent', async () => {
    const handled: unknown[] = []
    const { promise, keep } = held<void>()
    const server = rsocketServer({ later: () => promise, note: ({ data }) => void handled.push(data) })
    server.on(event(1, 'later', '1'))
    server.connection.drain?.()
    server.on(event(3, 'note', '3'), request(5, 'note', '5'))
    keep()
    await server.later()
    server.on(event(7, 'note', '7'))
    await server.later()
    assert.deepEqual(handled, [3, 7])
  })
})

describe('the input of a channel', () => {
  it('is as many values as have come: none, where the only frame has no data and is the last', async () => {
    const server = rsocketServer({ list: ({ data }) => listOf(data) })
    server.on(channel(1, 'list', 1, '', 'C'))
    assert.deepEqual((await server.later()).at(-1), 'PAYLOAD 1 CN []')
    server.on(channel(3, 'list', 1, ''), payload(3, 'NC', '2'))
    assert.deepEqual((await server.later()).at(-1), 'PAYLOAD 3 CN ["no value",2]')
    server.on(channel(5, 'list', 1, '7', 'C'))
    assert.deepEqual((await server.later()).at(-1), 'PAYLOAD 5 CN [7]')
  })

  it('is none of a request that is no channel: values and credits for it change nothing', async () => {
    const { promise, keep } = held<number>()
    const server = rsocketServer({ later: () => promise })
    assert.deepEqual(server.on(request(1, 'later', '1'), payload(1, 'NC', '2'), requestN(1, 5)), [])
    keep(7)
    assert.deepEqual(await server.later(), ['PAYLOAD 1 CN 7'])
  })

  it('ends with the error of a value that cannot be read, as does the channel', async () => {
    const seen: unknown[] = []
    const server = rsocketServer({
      list: ({ data }) => listOf(data).catch((error: Error) => void seen.push(error.name))
    })
    assert.deepEqual(server.on(channel(1, 'list', 1, '1')), ['REQUEST_N 1 4'])
    const frames = server.on(payload(1, 'N', '{'), payload(1, 'N', '2'))
    assert.equal(frames.length, 1)
    assert.match(frames[0] ?? '', /^ERROR 1 0x204 \S/)
    assert.deepEqual(await server.later(), [])
    assert.deepEqual([seen, server.connection.inFlight], [['ProtocolError'], 0])
  })

  it("ends with the caller's error, or says that the caller has given up", async () => {
    const ends: unknown[] = []
    const server = rsocketServer({
      list: ({ data }) =>
        listOf(data).then(
          (values) => void ends.push(values),
          (error: Error) => void ends.push(error.message)
        )
    })
    server.on(channel(1, 'list', 1, '1'), channel(3, 'list', 1, '3'))
    server.on(error(1, 0x201, 'of the source'), cancel(3))
    assert.deepEqual(await server.later(), [])
    assert.equal(ends.length, 2)
    assert.ok(ends.some((end) => /APPLICATION_ERROR.*of the source/.test(String(end))))
    assert.ok(ends.includes('The caller has canceled the call'))
  })

  it('is cancelled when its handler leaves it, once, and the answer comes all the same', async () => {
    const { promise, keep } = held<void>()
    const server = rsocketServer({
      first: async ({ data }) => {
        for await (const value of data as AsyncIterable<unknown>) {
          setImmediate(keep)
          void value
          break
        }
        await promise
        return 'done'
      }
    })
    assert.deepEqual(server.on(channel(1, 'first', 1, '1')), ['REQUEST_N 1 4'])
    const frames = [...(await server.later()), ...(await server.later())]
    assert.deepEqual(frames, ['CANCEL 1', 'PAYLOAD 1 CN "done"'])
  })

  it('is cancelled once, too, when its handler leaves it before anything else', async () => {
    const leave = (data: unknown) => void (data as AsyncGenerator<unknown>).return(undefined)
    const server = rsocketServer({
      value: ({ data }) => {
        leave(data)
        return 7
      },
      promise: async ({ data }) => {
        leave(data)
        return 7
      }
    })
    for (const name of ['value', 'promise']) {
      const frames = [...server.on(channel(1, name, 1, '1')), ...(await server.later())]
      assert.deepEqual(frames, ['REQUEST_N 1 4', 'CANCEL 1', 'PAYLOAD 1 CN 7'], name)
    }
  })

  it('ends for a handler that reads it and then throws, and nothing follows its ERROR', async () => {
    const { promise, keep } = held<unknown>()
    const server = rsocketServer({
      fails: ({ data }) => {
        void listOf(data).then(keep)
        throw new RpcError('no')
      },
      async *values({ data }) {
        for await (const value of data as AsyncIterable<unknown>) yield value === 1 ? 1n : value
      }
    })
    const types = (frames: string[]) => frames.map((text) => text.split(' ')[0])
    assert.deepEqual(types(server.on(channel(1, 'fails', 1, '1'))), ['REQUEST_N', 'ERROR'])
    await promise
    const frames = [...server.on(channel(3, 'values', 9, '1')), ...(await server.later())]
    assert.deepEqual(types(frames), ['REQUEST_N', 'ERROR'])
    assert.equal(server.connection.inFlight, 0)
  })
})

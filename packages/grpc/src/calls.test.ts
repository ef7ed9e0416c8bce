/** Calls between the two ends of this package, without sockets. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { FakeClock, FakeOutput } from '@elysia-microservices/rsocket/testing'
import { collected, Log, within } from '@elysia-microservices/test-support'
import {
  type IncomingMessage,
  PendingCaller,
  RejectedError,
  RpcError,
  StreamValues
} from '@elysia-microservices/transport/kit'
import { GrpcClientConnection } from './client/grpc-client-connection.ts'
import type { Http2Limits } from './http2/limits.ts'
import { GrpcConnection } from './server/grpc-connection.ts'
import { dispatcherOf, METHODS } from './testing/service.ts'

type Handlers = Parameters<typeof dispatcherOf>[0]

/** A client and a server whose bytes pass in later turns. */
class Pair {
  readonly clock = new FakeClock()
  readonly log = new Log()
  readonly client: GrpcClientConnection
  readonly server: GrpcConnection
  readonly caller: PendingCaller
  readonly #toServer = new FakeOutput()
  readonly #toClient = new FakeOutput()
  leaving = 0
  #isPassing = true

  constructor(handlers: Handlers, limits: Partial<Http2Limits> = {}, isPassing = true) {
    const common = {
      methods: METHODS,
      logger: this.log.logger,
      maxMessageSize: 10_000_000,
      maxHeldSize: 100_000,
      newTimer: this.clock.newTimer
    }
    this.server = new GrpcConnection({ ...common, limits, dispatcher: dispatcherOf(handlers) })
    this.client = new GrpcClientConnection({
      ...common,
      timeout: 5_000,
      authority: 'here:1',
      isSecure: false,
      where: 'grpc://here:1',
      goingAway: () => void this.leaving++
    })
    this.caller = new PendingCaller((call) => this.client.calls.start(call), 5_000)
    this.server.open(this.#toClient)
    this.client.open(this.#toServer)
    if (isPassing) this.pass()
  }

  /** The values of a stream. */
  stream(pattern: string, data: unknown): AsyncIterable<unknown> {
    return new StreamValues((receiver) => this.caller.stream(pattern, data, receiver))
  }

  [Symbol.dispose](): void {
    this.#isPassing = false
  }

  /** Bytes begin to pass. */
  pass(): void {
    if (!this.#isPassing) return
    const [up, down] = [this.#toServer.sent(), this.#toClient.sent()]
    if (up.length > 0) this.server.receive(Uint8Array.from(up))
    if (down.length > 0) this.client.receive(Uint8Array.from(down))
    setTimeout(() => this.pass())
  }
}

const textOf = ({ data }: IncomingMessage) => data as string
const valuesOf = ({ data }: IncomingMessage) => data as AsyncIterable<string>
const soon = <Value>(promise: Promise<Value>) => within(promise, 'an answer')

describe('calls of this library', () => {
  it('of all four kinds are answered', async () => {
    using pair = new Pair({
      Unary: (one) => `<${textOf(one)}>`,
      async *Down(one) {
        for (let at = 0; at < 5; at++) yield `${textOf(one)}${at}`
      },
      async Up(one) {
        return (await collected(valuesOf(one))).join('')
      },
      async *Both(one) {
        for await (const value of valuesOf(one)) yield `<${value}>`
      }
    })
    const { caller } = pair
    const values = async function* () {
      yield* ['a', 'b', 'c']
    }
    assert.equal(await soon(caller.request('test.Kinds/Unary', 'x')), '<x>')
    assert.deepEqual(await soon(collected(pair.stream('test.Kinds/Down', 'x'))), [
      'x0',
      'x1',
      'x2',
      'x3',
      'x4'
    ])
    assert.equal(await soon(caller.request('test.Kinds/Up', values())), 'abc')
    assert.deepEqual(await soon(collected(pair.stream('test.Kinds/Both', values()))), ['<a>', '<b>', '<c>'])
    assert.deepEqual([pair.client.inFlight, pair.server.inFlight], [0, 0])
  })

  it('carry headers, errors with details, and events', async () => {
    const events: unknown[] = []
    using pair = new Pair({
      Unary(one) {
        throw new RpcError({ code: 'ORDER_GONE', message: 'Gone: ü', details: { id: one.headers['x-id'] } })
      },
      Event(one) {
        events.push(one.data)
      }
    })
    await assert.rejects(soon(pair.caller.request('test.Kinds/Unary', 'x', { headers: { 'X-Id': '7' } })), {
      name: 'RpcError',
      code: 'ORDER_GONE',
      message: 'Gone: ü',
      details: { id: '7' }
    })
    await soon(pair.caller.emit('test.Kinds/Event', 'happened'))
    assert.deepEqual(events, ['happened'])
  })

  it('carry headers of answers, with bytes, before the first value and before the end', async () => {
    const bytes = Uint8Array.of(0, 255)
    using pair = new Pair({
      Unary({ set, metadata, headers }) {
        const { 'x-id-bin': given } = metadata as Record<string, Uint8Array>
        set.headers['x-got'] = `${given} ${headers['x-id-bin']}`
        set.headers['trace-bin'] = bytes
        set.headers['spans-bin'] = [bytes, Uint8Array.of(7)]
        set.trailers['cost'] = '7'
        return 'one'
      },
      async *Down({ set, data }) {
        set.headers['x-cache'] = 'hit'
        if (data === 'fail') throw new RpcError({ code: 'NOT_FOUND', message: 'none' })
        yield 'a'
        set.trailers['cost'] = '8'
        yield 'b'
      }
    })
    const heard: unknown[] = []
    const taken = () => heard.splice(0)
    const options = {
      onHeaders: (headers: object) => heard.push({ headers: { ...headers } }),
      onTrailers: (trailers: object) => heard.push({ trailers: { ...trailers } })
    }
    const asking = { ...options, headers: { 'x-id-bin': bytes } }
    heard.push(await soon(pair.caller.request('test.Kinds/Unary', 'x', asking)))
    const head = {
      headers: { 'x-got': '0,255 AP8=', 'trace-bin': bytes, 'spans-bin': [bytes, Uint8Array.of(7)] }
    }
    assert.deepEqual(taken(), [head, { trailers: { cost: '7' } }, 'one'])
    const stream = (data: string) =>
      new StreamValues((receiver) => pair.caller.stream('test.Kinds/Down', data, receiver, options))
    for await (const value of stream('x')) heard.push(value)
    // The reader takes its values in later turns.
    assert.deepEqual(taken(), [{ headers: { 'x-cache': 'hit' } }, { trailers: { cost: '8' } }, 'a', 'b'])
    await assert.rejects(soon(collected(stream('fail'))), { code: 'NOT_FOUND' })
    assert.deepEqual(taken(), [{ headers: { 'x-cache': 'hit' } }])
    // Nobody asks, and nothing else changes.
    assert.equal(
      await soon(pair.caller.request('test.Kinds/Unary', 'x', { headers: { 'x-id-bin': 'AP8' } })),
      'one'
    )
  })

  it('fail when headers cannot be sent or read', async () => {
    using pair = new Pair({
      Unary({ set, data }) {
        if (data === 'misset') set.headers['x-word'] = 'ü'
        else set.headers['x-word'] = 'u'
        return 'one'
      }
    })
    const { caller } = pair
    await assert.rejects(soon(caller.request('test.Kinds/Unary', 'misset')), { code: 'INTERNAL' })
    assert.match(pair.log.lines.join(), /headers, cannot be sent/)
    const onHeaders = () => {
      throw new Error('unreadable')
    }
    await assert.rejects(soon(caller.request('test.Kinds/Unary', 'x', { onHeaders })), /unreadable/)
    for (const headers of [{ 'x-word': 'ü' }, { te: 'x' }, { 'a b': 'x' }, { 'x-bin': 'no base64' }] as const)
      await assert.rejects(soon(caller.request('test.Kinds/Unary', 'x', { headers })), {
        name: 'OptionError'
      })
    assert.deepEqual([pair.client.inFlight, pair.server.inFlight], [0, 0])
  })

  it('wait until the server has room for their streams', async () => {
    let running = 0
    let most = 0
    using pair = new Pair(
      {
        async Unary(one) {
          most = Math.max(most, ++running)
          await new Promise((resolve) => setTimeout(resolve))
          running--
          return one.data
        }
      },
      { streams: 3 }
    )
    // The first request waits for the settings of the server.
    await soon(pair.caller.request('test.Kinds/Unary', '0'))
    const answers = await soon(
      Promise.all(Array.from({ length: 20 }, (_, at) => pair.caller.request('test.Kinds/Unary', String(at))))
    )
    assert.deepEqual(
      answers,
      Array.from({ length: 20 }, (_, at) => String(at))
    )
    assert.equal(most, 3)
  })

  it('carry messages of any size', async () => {
    using pair = new Pair({ Unary: (one) => one.data })
    for (const size of [0, 1, 16_379, 16_380, 65_535, 300_000, 2_000_000]) {
      const text = 'x'.repeat(size)
      assert.equal(await soon(pair.caller.request('test.Kinds/Unary', text)), text)
    }
  })

  it('end at their deadlines, on both ends', async () => {
    let signal: AbortSignal | undefined
    using pair = new Pair({
      Unary(one) {
        signal = one.signal
        return new Promise(() => {})
      }
    })
    const answer = pair.caller.request('test.Kinds/Unary', 'x', { timeout: 100 })
    while (signal === undefined) await new Promise((resolve) => setTimeout(resolve))
    pair.clock.pass(100)
    await assert.rejects(soon(answer), { name: 'TimeoutError' })
    while (!signal.aborted) await new Promise((resolve) => setTimeout(resolve))
    assert.equal(pair.client.inFlight, 0)
  })

  it('for streams end with their lifetime, of which the service is told', async () => {
    let left: number | undefined
    let isOver = false
    using pair = new Pair({
      async *Down({ remaining, signal }) {
        left = remaining
        yield 'a'
        await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
        isOver = true
      }
    })
    const values: unknown[] = []
    const reading = (async () => {
      const options = { lifetime: 60_000, timeout: 1_000 }
      const stream = new StreamValues((receiver) =>
        pair.caller.stream('test.Kinds/Down', 'x', receiver, options)
      )
      for await (const value of stream) values.push(value)
    })()
    while (values.length === 0) await new Promise((resolve) => setTimeout(resolve))
    assert.ok(left !== undefined && left > 1_000 && left <= 60_000, `${left}`)
    pair.clock.pass(60_000)
    await assert.rejects(soon(reading), { name: 'TimeoutError', timeout: 60_000 })
    while (!isOver) await new Promise((resolve) => setTimeout(resolve))
    assert.deepEqual([pair.client.inFlight, pair.server.inFlight], [0, 0])
  })

  it('are cancelled when their reader leaves, and a generator is not asked ahead of its reader', async () => {
    let made = 0
    let isOver = false
    using pair = new Pair({
      async *Down() {
        try {
          for (;;) {
            made++
            yield 'x'.repeat(1_000)
          }
        } finally {
          isOver = true
        }
      }
    })
    let read = 0
    for await (const _ of pair.stream('test.Kinds/Down', 'x')) {
      if (++read === 3) {
        // The reader pauses: the generator stops when the windows are full.
        for (let turn = 0, last = -1; last !== made || turn < 20; turn++) {
          last = made
          await new Promise((resolve) => setTimeout(resolve, 2))
        }
        break
      }
    }
    assert.ok(made < 3_000, `${made} values`)
    while (!isOver) await new Promise((resolve) => setTimeout(resolve))
    assert.deepEqual([pair.client.inFlight, pair.server.inFlight], [0, 0])
  })

  it('that the server has not begun when it leaves were certainly not run', async () => {
    using pair = new Pair({ Unary: () => new Promise(() => {}) }, { streams: 1 }, false)
    const first = pair.caller.request('test.Kinds/Unary', '1', { timeout: false })
    const second = pair.caller.request('test.Kinds/Unary', '2', { timeout: false })
    // Both were sent before the client knew the limit.
    pair.pass()
    await assert.rejects(soon(second), (error: Error) => error instanceof RejectedError && !error.mayHaveRun)
    pair.server.drain('stopping')
    while (pair.leaving === 0) await new Promise((resolve) => setTimeout(resolve))
    pair.server.cut()
    await assert.rejects(soon(first), { code: 'UNAVAILABLE', message: 'The server is stopping' })
  })

  it('fail with the connection, and say whether they may have run', async () => {
    using pair = new Pair({ Unary: () => new Promise(() => {}) })
    const answer = pair.caller.request('test.Kinds/Unary', '1')
    pair.client.close(new Error('lost'))
    await assert.rejects(soon(answer), { name: 'ConnectionError', mayHaveRun: true })
  })

  it('of no method fail at home', async () => {
    using pair = new Pair({})
    await assert.rejects(soon(pair.caller.request('test.Kinds/None', '1')), {
      name: 'OptionError',
      mayHaveRun: false
    })
  })
})

/** Calls over WebSocket to the services of an app, on the app's own port. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import '@elysia-microservices/transport/msgpack'
import { t } from 'elysia'
import { type Message, memory, microservice, RpcError } from 'elysia-microservices'
import { isError, type Middleware, middleware, type SentMessage, type WebClientOf } from './client.ts'
import { websocket } from './index.ts'
import { clientOf, type Listening, listen, newApp } from './testing/app.ts'

const silent = { error() {}, warn() {} }

/** The records of the handlers. */
const seen = { canceled: 0, made: 0, viewed: [] as unknown[] }

function newShop() {
  return microservice({ name: 'shop', transport: memory(), logger: silent })
    .message('shop.echo', ({ data }) => data)
    .message('shop.later', async ({ data }: Message<number>) => data + 1)
    .message('shop.count', async function* ({ data }: Message<number>) {
      for (let n = 0; n < data; n++) {
        seen.made++
        yield n
      }
    })
    .message('shop.total', async ({ data }: Message<AsyncIterable<number>>) => {
      let total = 0
      for await (const n of data) total += n
      return total
    })
    .message('shop.never', ({ signal }) => {
      signal.addEventListener('abort', () => seen.canceled++)
      return new Promise<void>(() => {})
    })
    .message('shop.fail', () => {
      throw new RpcError({ code: 'SOLD_OUT', message: 'none left', details: { left: 0 } })
    })
    .message('shop.broken', (): void => {
      throw new Error('a secret')
    })
    .message('shop.checked', ({ data }) => data.id, { data: t.Object({ id: t.Number() }) })
    .message('shop.headers', ({ headers, transport, timeout }) => ({ ...headers, transport, timeout }))
    .message('shop.caller', ({ peer }) => peer?.name)
    .event('shop.viewed', ({ data }) => void seen.viewed.push(data))
    .message('internal.secret', () => 'secret')
}

const opened = async (): Promise<Listening> =>
  listen(
    newApp()
      .use(newShop())
      .use(websocket({ expose: ['shop.*'] }))
  )
type Shop = ReturnType<typeof newShop>

const until = async (isDone: () => boolean) => {
  while (!isDone()) await new Promise((resolve) => setTimeout(resolve, 2))
}

describe('a client over WebSocket', () => {
  it('gets answers: at once, later, a thousand at a time', async () => {
    await using app = await opened()
    await using client = clientOf<Shop>(app)
    for (const value of [null, 'é€😀', { a: [1, { b: null }] }])
      assert.deepEqual(await client.request('shop.echo', value), value)
    assert.equal(await client.request('shop.later', 1), 2)
    const numbers = Array.from({ length: 1_000 }, (_, n) => n)
    const answers = await Promise.all(numbers.map((n) => client.request('shop.later', n)))
    assert.deepEqual(
      answers,
      numbers.map((n) => n + 1)
    )
  })

  it('sends and gets values larger than a message', async () => {
    await using app = await opened()
    await using client = clientOf<Shop>(app)
    const large = 'é'.repeat(450_000)
    assert.equal(await client.request('shop.echo', large), large)
  })

  it('reads streams by demand', async () => {
    await using app = await opened()
    await using client = clientOf<Shop>(app)
    const values = []
    for await (const value of client.stream('shop.count', 20_000)) values.push(value)
    assert.equal(values.length, 20_000)
    assert.ok(values.every((value, index) => value === index))
    seen.made = 0
    for await (const value of client.stream('shop.count', 1_000_000)) if (value === 0) break
    const made = seen.made
    assert.ok(made < 2_000, String(made))
  })

  it('sends streams', async () => {
    await using app = await opened()
    await using client = clientOf<Shop>(app)
    async function* numbers() {
      for (let n = 0; n < 3_000; n++) yield n
    }
    assert.equal(await client.request('shop.total', numbers()), 4_498_500)
  })

  it('tells the server that it gives up: by its deadline, its signal, a loop that is left', async () => {
    await using app = await opened()
    await using client = clientOf<Shop>(app)
    seen.canceled = 0
    await client.connect()
    await assert.rejects(client.request('shop.never', undefined, { timeout: 30 }), { name: 'TimeoutError' })
    const aborter = new AbortController()
    const call = client.request('shop.never', undefined, { signal: aborter.signal })
    setTimeout(() => aborter.abort(), 5)
    await assert.rejects(call, { name: 'CanceledError' })
    await until(() => seen.canceled === 2)
  })

  it('gets errors by their classes and codes, and no word of what was not meant for it', async () => {
    await using app = await opened()
    await using client = clientOf<Shop>(app)
    await assert.rejects(client.request('shop.fail'), {
      name: 'RpcError',
      code: 'SOLD_OUT',
      details: { left: 0 }
    })
    await assert.rejects(client.request('shop.broken'), {
      code: 'INTERNAL',
      message: 'Internal server error'
    })
    await assert.rejects(client.request('shop.checked', {} as never), {
      name: 'ValidationError',
      path: 'data.id'
    })
    await assert.rejects(client.request('shop.nothing' as 'shop.fail'), { name: 'PatternNotFoundError' })
  })

  it('has middleware around requests, streams and events', async () => {
    await using app = await opened()
    const seen: string[] = []
    const watch: Middleware<SentMessage> = (next) => (call) => {
      seen.push(`${call.kind} ${call.pattern}`)
      return next(call)
    }
    await using client = clientOf<Shop>(app, { wrap: middleware(watch) })
    assert.equal(await client.request('shop.later', 1), 2)
    await client.stream('shop.count', 1).next()
    assert.deepEqual(seen, ['request shop.later', 'stream shop.count'])
    assert.throws(() => middleware(1 as never), { path: 'middleware[0]' })
  })

  it('makes calls with options of their own, which it checks', async () => {
    await using app = await opened()
    await using client = clientOf<Shop>(app, { timeout: 9_000 })
    await client.connect()
    let n = 0
    const mine = client.with({ headers: () => ({ n: String(++n) }), timeout: 1_000 })
    assert.deepEqual(await mine.request('shop.headers'), { n: '1', transport: 'websocket', timeout: 1_000 })
    const { data } = await mine.with({ headers: { a: 'b' } }).safe.request('shop.headers')
    assert.deepEqual(data, { n: '2', a: 'b', transport: 'websocket', timeout: 1_000 })
    await assert.rejects(client.with({ header: {} } as never).request('shop.headers'), {
      path: 'options.header'
    })
  })

  it('tells its name once for each connection', async () => {
    await using app = await opened()
    await using client = clientOf<Shop>(app, { name: 'till 7' })
    await using nameless = clientOf<Shop>(app)
    assert.deepEqual(
      [await client.request('shop.caller'), await nameless.request('shop.caller')],
      ['till 7', undefined]
    )
    for (const name of ['', 'x'.repeat(101), 7 as never])
      assert.throws(() => clientOf(app, { name }), { path: 'options.name' })
  })

  it('gets errors as outcomes', async () => {
    await using app = await opened()
    await using client = clientOf<Shop>(app)
    const { data, error } = await client.safe.request('shop.fail')
    assert.equal(data, null)
    assert.ok(isError(error, 'SOLD_OUT'))
    assert.deepEqual(await client.safe.request('shop.later', 1), { data: 2, error: null })
  })

  it('knows patterns and data by the type of the service', () => {
    const never = (client: WebClientOf<Shop>): Promise<unknown>[] => [
      // @ts-expect-error there is no such pattern
      client.request('shop.ehco', 1),
      // @ts-expect-error it wants a number
      client.request('shop.later', 'one'),
      // @ts-expect-error it answers with a stream
      client.request('shop.count', 1),
      // @ts-expect-error it is an event
      client.request('shop.viewed', 1),
      client.request('shop.later', 1) satisfies Promise<number>
    ]
    assert.equal(typeof never, 'function')
  })

  it('fails the input of a channel by its code alone, if that was meant', async () => {
    await using app = await opened()
    await using client = clientOf<Shop>(app)
    async function* failing() {
      yield 1
      throw new RpcError({ code: 'LEFT' })
    }
    await assert.rejects(client.request('shop.total', failing()), { code: 'LEFT' })
  })

  it('sends events, headers and its time', async () => {
    await using app = await opened()
    await using client = clientOf<Shop>(app)
    seen.viewed = []
    await client.emit('shop.viewed', 7)
    const options = { headers: { tenant: 'a' }, timeout: 5_000 }
    assert.deepEqual(await client.request('shop.headers', undefined, options), {
      tenant: 'a',
      transport: 'websocket',
      timeout: 5_000
    })
    assert.deepEqual(seen.viewed, [7])
  })

  it('speaks MessagePack where it was imported', async () => {
    await using app = await opened()
    await using client = clientOf<Shop>(app, { codec: 'msgpack' })
    const value = { at: new Date(5), bytes: new Uint8Array([1, 2]), big: 2n ** 60n }
    assert.deepEqual(await client.request('shop.echo', value), value)
  })

  it('tells its status', async () => {
    await using app = await opened()
    const told: string[] = []
    const client = clientOf<Shop>(app, { onStatus: (event) => void told.push(event.type) })
    assert.equal(client.status, 'disconnected')
    await client.connect()
    assert.equal(client.status, 'connected')
    await client.close()
    assert.equal(client.status, 'closed')
    assert.deepEqual(told, ['status', 'connected', 'status', 'status'])
    await assert.rejects(client.request('shop.echo', 1), { name: 'ConnectionError', retryable: false })
    await assert.rejects(client.connect(), { name: 'ConnectionError' })
  })

  it('says which option is wrong', () => {
    const make = (options: object) => () => clientOf({ url: 'ws://localhost' }, options)
    assert.throws(make({ url: 'ftp://localhost' }), { name: 'OptionError', path: 'options.url' })
    assert.throws(make({ url: 'nowhere' }), { path: 'options.url' })
    assert.throws(make({ codec: 'xml' }), { path: 'options.codec' })
    for (const timeout of [-1, 0]) assert.throws(make({ timeout }), { path: 'options.timeout' })
    assert.throws(make({ constructor: 1 }), { path: 'options.constructor' })
    assert.throws(make({ onStatus: 1 }), { path: 'options.onStatus' })
    assert.throws(make({ resume: { windows: 1 } }), { message: /did you mean options.resume.window/ })
  })

  it('fails where nobody listens', async () => {
    await using client = clientOf({ url: 'ws://localhost:1/rsocket' })
    await assert.rejects(client.connect(), { name: 'ConnectionError', mayHaveRun: false })
    await assert.rejects(client.request('a' as never), { name: 'ConnectionError', mayHaveRun: false })
  })
})

describe('the door of an app', () => {
  it('leads to every service of the app, also one that comes later, and behind a prefix', async () => {
    const prices = microservice({ transport: memory(), logger: silent }).message('prices.of', () => 5)
    const app = newApp()
      .group('/v1', (inner) => inner.use(websocket({ expose: ['shop.echo', 'prices.of', 'internal.*'] })))
      .use(newShop())
      .use(prices)
    await using listening = await listen(app)
    await using client = clientOf<unknown>({ url: `ws://localhost:${listening.port}/v1/rsocket` })
    const untyped = client as unknown as { request(pattern: string, data?: unknown): Promise<unknown> }
    assert.equal(await untyped.request('prices.of'), 5)
    assert.equal(await untyped.request('shop.echo', 1), 1)
    assert.equal(await untyped.request('internal.secret'), 'secret')
    await assert.rejects(untyped.request('shop.later', 1), { code: 'PATTERN_NOT_FOUND' })
  })

  it('is closed by hooks of its app, which see the upgrade as any request', async () => {
    const app = newApp()
      .onBeforeHandle(({ request, set }) => {
        if (request.headers.get('x-key') === 'open') return
        set.status = 401
        return 'no'
      })
      .use(newShop())
      .use(websocket({ expose: ['shop.*'] }))
    await using listening = await listen(app)
    await using client = clientOf<Shop>(listening)
    await assert.rejects(client.connect(), { name: 'ConnectionError' })
  })

  it('answers a plain request with a sentence', async () => {
    await using app = await opened()
    const response = await fetch(`http://localhost:${app.port}/rsocket`)
    assert.equal(response.status, 426)
    assert.match(await response.text(), /WebSocket/)
    assert.equal((await fetch(`http://localhost:${app.port}/`)).status, 404)
  })

  it('lets what is in flight end when the app stops, and clients find the next one', async () => {
    let answer: (value: string) => void = () => {}
    const slow = () =>
      microservice({ transport: memory(), logger: silent }).message(
        'slow',
        () =>
          new Promise<string>((resolve) => {
            answer = resolve
          })
      )
    const before = answer
    const app = await listen(
      newApp()
        .use(slow())
        .use(websocket({ expose: ['slow'] }))
    )
    await using client = clientOf<ReturnType<typeof slow>>(app)
    const call = client.request('slow')
    await until(() => answer !== before)
    const stopped = app.stop(false)
    answer('done')
    assert.equal(await call, 'done')
    await stopped
    assert.notEqual(client.status, 'connected')
  })

  it('says which option is wrong', () => {
    const make = (options: object) => () => websocket(options as never)
    assert.throws(make({}), { name: 'OptionError', path: 'options.expose' })
    assert.throws(make({ expose: [] }), { path: 'options.expose' })
    assert.throws(make({ expose: [/a/] }), { path: 'options.expose[0]' })
    assert.throws(make({ expose: ['a'], path: 'x' }), { path: 'options.path' })
    assert.throws(make({ expose: ['a'], origins: ['shop.example'] }), { path: 'options.origins[0]' })
    assert.throws(make({ expose: ['a'], limits: { toString: 1 } }), { path: 'options.limits.toString' })
    assert.throws(make({ expose: ['a'], limits: { streams: 0 } }), { path: 'options.limits.streams' })
    assert.throws(make({ expose: ['a'], resume: { window: -1 } }), { path: 'options.resume.window' })
    assert.throws(make({ expose: ['a'], authenticate: true }), { path: 'options.authenticate' })
  })
})

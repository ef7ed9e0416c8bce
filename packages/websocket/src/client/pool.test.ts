/** A client of several servers: which server it calls, and what it does when a server fails. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Message, memory, microservice } from 'elysia-microservices'
import { type WebSocketOptions, websocket } from '../index.ts'
import { connect, type PoolOptions } from '../pool.ts'
import { type Listening, listen, newApp, type } from '../testing/app.ts'
import { CuttingProxy } from '../testing/cutting-proxy.ts'

const silent = { error() {}, warn() {} }

function newService(name: string) {
  return microservice({ transport: memory(), logger: silent })
    .message('name', () => name)
    .message('count', function* ({ data }: Message<number>) {
      for (let n = 0; n < data; n++) yield n
    })
    .message('wait', () => new Promise<string>(() => {}))
}

type Service = ReturnType<typeof newService>

function start(name: string, options: Partial<WebSocketOptions> = {}): Promise<Listening> {
  return listen(
    newApp()
      .use(newService(name))
      .use(websocket({ expose: ['>'], ...options }))
  )
}

function clientOf(options: Partial<PoolOptions>) {
  const all = { url: 'ws://localhost/rsocket', WebSocket: type, logger: silent, ...options }
  const client = connect<Service>(all)
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.close() })
}

const endpointsOf = (...servers: readonly Listening[]) =>
  servers.map(({ port }) => `ws://localhost:${port}/rsocket`)

describe('a client of several servers over WebSocket', () => {
  it('calls all of them, and when one is gone those that are left, of which nobody hears', async () => {
    await using one = await start('one')
    await using two = await start('two')
    await using client = clientOf({ url: endpointsOf(one, two) })
    const names = async () => {
      const answers = await Promise.all(Array.from({ length: 64 }, () => client.request('name')))
      return [...new Set(answers)].toSorted()
    }
    const isUp = new Set<string>()
    const bothAreUp = new Promise<void>((resolve) => {
      client.onStatus((event) => {
        if (event.type === 'connected') isUp.add(event.endpoint)
        if (isUp.size === 2) resolve()
      })
    })
    await client.connect()
    await bothAreUp
    assert.deepEqual(await names(), ['one', 'two'])
    // The calls of this turn go to both servers. Calls that the stopped server has not begun to handle are retried
    // at the other one.
    const calls = Array.from({ length: 64 }, () => client.request('name'))
    await two.stop(false)
    assert.equal((await Promise.all(calls)).length, 64)
    assert.deepEqual(await names(), ['one'])
    assert.equal(client.status, 'connected')
  })

  it('needs no more than the url of one, reads its streams, and connects with the first call', async () => {
    await using server = await start('one')
    await using client = clientOf({ url: server.url })
    assert.equal(client.status, 'disconnected')
    let read = 0
    for await (const value of client.stream('count', 5_000)) read += value
    assert.equal(read, 12_497_500)
  })

  it('connects again when it has lost its connection, and fails what may have run', async () => {
    await using server = await start('one')
    const proxy = new CuttingProxy(server.port)
    const url = await proxy.open()
    try {
      await using client = clientOf({ url, reconnect: { minDelay: 0, maxDelay: 0 } })
      assert.equal(await client.request('name'), 'one')
      const waiting = client.request('wait')
      const failed = assert.rejects(waiting, { name: 'ConnectionError', mayHaveRun: true })
      assert.equal(await client.request('name'), 'one')
      proxy.cut()
      await failed
      assert.equal(await client.request('name'), 'one')
    } finally {
      proxy.close()
    }
  })

  it('goes on with a stream that is cut many times, where it resumes', async () => {
    await using server = await start('one')
    const proxy = new CuttingProxy(server.port)
    const url = await proxy.open()
    try {
      await using client = clientOf({ url, resume: true })
      let next = 0
      for await (const value of client.stream('count', 3_000)) {
        assert.equal(value, next++)
        if (next % 300 === 0) proxy.cut()
      }
      assert.equal(next, 3_000)
      assert.ok(proxy.made > 3, String(proxy.made))
    } finally {
      proxy.close()
    }
  })

  it('hears that it is refused, and asks for its credentials with each attempt', async () => {
    const authenticate: WebSocketOptions['authenticate'] = ({ credentials }) =>
      credentials?.type === 'bearer' && credentials.token === 'second' && { user: 'ada' }
    await using server = await start('one', { authenticate })
    const tokens = ['first', 'second']
    await using client = clientOf({
      url: server.url,
      credentials: () => ({ type: 'bearer', token: tokens.shift() as string })
    })
    await assert.rejects(client.request('name'), { name: 'UnauthenticatedError' })
    assert.equal(await client.request('name'), 'one')
  })

  it('asks a function for its servers, and finds those that come later', async () => {
    await using one = await start('one')
    await using two = await start('two')
    let list = endpointsOf(one)
    await using client = clientOf({ url: () => list, resolveInterval: 5 })
    assert.equal(await client.request('name'), 'one')
    list = endpointsOf(two)
    await new Promise<void>((resolve) => {
      client.onStatus((event) => event.type === 'connected' && resolve())
    })
    while ((await client.request('name')) !== 'two');
  })

  it('fails with the reason where nobody listens', async () => {
    await using client = clientOf({ url: ['ws://localhost:1/rsocket', 'ws://localhost:2/rsocket'] })
    await assert.rejects(client.request('name'), {
      name: 'ConnectionError',
      mayHaveRun: false,
      message: /ws:\/\/localhost:1, ws:\/\/localhost:2/
    })
  })

  it('says which option is wrong', () => {
    const path = 'options.url'
    for (const url of [[], ['a:b'], ['dns:shop.example'], ['srv:_shop._tcp.example'], 'a', [7]])
      assert.throws(() => clientOf({ url: url as never }), { name: 'OptionError', path })
    assert.throws(() => clientOf({ url: 'ftp://a' }), { path: 'options.url' })
    assert.throws(() => clientOf({ connections: 0 }), { path: 'options.connections' })
    assert.throws(() => clientOf({ toString: 1 } as never), { path: 'options.toString' })
  })
})

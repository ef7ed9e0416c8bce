/**
 * Lost connections: which calls go on, which are retried, and which errors callers get. A proxy cuts the
 * connections.
 */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { isInCheck } from '@elysia-microservices/test-support'
import { type Message, memory, microservice } from 'elysia-microservices'
import { type WebSocketOptions, websocket } from './index.ts'
import { clientOf, type Listening, listen, newApp } from './testing/app.ts'
import { CuttingProxy } from './testing/cutting-proxy.ts'

/** The values of a stream that is cut at every 300th. */
const VALUES = isInCheck ? 2_400 : 6_000
const silent = { error() {}, warn() {} }

function newService() {
  return microservice({ transport: memory(), logger: silent })
    .message('count', async function* ({ data }: Message<number>) {
      for (let n = 0; n < data; n++) {
        if (n % 20 === 0) await new Promise((resolve) => setTimeout(resolve, 1))
        yield n
      }
    })
    .message('runs', () => ++runs)
    .message('slow', async ({ data }: Message<number>) => {
      runs++
      await new Promise((resolve) => setTimeout(resolve, data))
      return 'done'
    })
    .message('user', ({ peer }) => peer?.user)
}

let runs = 0
const until = async (isDone: () => boolean) => {
  while (!isDone()) await new Promise((resolve) => setTimeout(resolve, 2))
}

describe('a connection that is lost', () => {
  let app: Listening
  let proxy: CuttingProxy
  let url: string
  const start = async (options: Partial<WebSocketOptions> = {}) => {
    app = await listen(
      newApp()
        .use(newService())
        .use(websocket({ expose: ['>'], ...options }))
    )
    proxy = new CuttingProxy(app.port)
    url = await proxy.open()
  }
  beforeEach(() => {
    runs = 0
  })
  afterEach(async () => {
    proxy.close()
    await app.stop()
  })

  it('goes on: a stream that is cut many times has every value once', async () => {
    await start()
    await using client = clientOf<ReturnType<typeof newService>>({ url })
    let next = 0
    let cuts = 0
    for await (const value of client.stream('count', VALUES)) {
      assert.equal(value, next++)
      if (next % 300 === 0 && cuts < 15) {
        cuts++
        proxy.cut()
      }
    }
    assert.equal(next, VALUES)
    assert.ok(proxy.made > 5, String(proxy.made))
  })

  it('goes on: a request runs once, and is answered', async () => {
    await start()
    await using client = clientOf<ReturnType<typeof newService>>({ url })
    const call = client.request('slow', 60)
    await until(() => runs === 1)
    proxy.cut()
    assert.equal(await call, 'done')
    assert.equal(runs, 1)
  })

  it('goes on for the same user, with new credentials', async () => {
    const tokens: (string | undefined)[] = []
    await start({
      authenticate: ({ credentials }) => {
        const token = credentials?.type === 'bearer' ? credentials.token : undefined
        tokens.push(token)
        return token === undefined ? false : { user: 'ada' }
      }
    })
    let asked = 0
    await using client = clientOf<ReturnType<typeof newService>>(
      { url },
      { credentials: async () => ({ type: 'bearer', token: `token ${++asked}` }) }
    )
    assert.equal(await client.request('user'), 'ada')
    const call = client.request('slow', 60)
    await until(() => runs === 1)
    proxy.cut()
    assert.equal(await call, 'done')
    assert.deepEqual(tokens, ['token 1', 'token 2'])
  })

  it('ends where its user has changed: open calls fail, further ones are the new user’s', async () => {
    await start({
      authenticate: ({ credentials }) =>
        credentials?.type === 'bearer' ? { user: credentials.token } : false
    })
    let user = 'ada'
    await using client = clientOf<ReturnType<typeof newService>>(
      { url },
      { credentials: () => ({ type: 'bearer', token: user }) }
    )
    assert.equal(await client.request('user'), 'ada')
    const call = client.request('slow', 10_000)
    await until(() => runs === 1)
    user = 'bob'
    proxy.cut()
    await assert.rejects(call, { name: 'ConnectionError', mayHaveRun: true })
    assert.equal(await client.request('user'), 'bob')
  })

  it('ends without resumption: what may have run fails, what certainly has not is made on the next one', async () => {
    await start()
    // The client may reconnect quickly, so its status does not show whether it has noticed the lost connection.
    const told: string[] = []
    await using client = clientOf<ReturnType<typeof newService>>(
      { url },
      { resume: false, onStatus: ({ type }) => void told.push(type) }
    )
    const call = client.request('slow', 10_000)
    await until(() => runs === 1)
    const failed = assert.rejects(call, { name: 'ConnectionError', mayHaveRun: true })
    proxy.cut()
    await until(() => told.includes('disconnected'))
    const later = client.request('runs')
    await failed
    assert.equal(await later, 2)
    assert.equal(client.status, 'connected')
  })

  it('is not resumed where the server does not do that, which the client finds out', async () => {
    await start({ resume: false })
    const told: string[] = []
    await using client = clientOf<ReturnType<typeof newService>>(
      { url },
      { onStatus: (event) => void told.push(event.type) }
    )
    assert.equal(await client.request('runs'), 1)
    assert.deepEqual(told, ['status', 'connected', 'status'])
    const call = client.request('slow', 10_000)
    await until(() => runs === 2)
    proxy.cut()
    await assert.rejects(call, { name: 'ConnectionError', mayHaveRun: true })
    assert.equal(await client.request('runs'), 3)
  })

  it('fails its calls when its window is over', async () => {
    await start()
    const told: string[] = []
    await using client = clientOf<ReturnType<typeof newService>>(
      { url },
      {
        resume: { window: 60 },
        onStatus: (event) => void told.push(event.type === 'status' ? event.status : event.type)
      }
    )
    const call = client.request('slow', 10_000)
    await until(() => runs === 1)
    proxy.isClosed = true
    proxy.cut()
    await assert.rejects(call, { name: 'ConnectionError' })
    proxy.isClosed = false
    assert.equal(await client.request('runs'), 2)
    assert.deepEqual(told.slice(0, 4), ['connecting', 'connected', 'connected', 'reconnecting'])
    assert.ok(told.includes('disconnected'))
  })

  it('is closed by the client while it is resumed: nothing stays', async () => {
    await start()
    const client = clientOf<ReturnType<typeof newService>>({ url })
    const call = client.request('slow', 10_000)
    await until(() => runs === 1)
    proxy.isClosed = true
    proxy.cut()
    await until(() => client.status === 'reconnecting')
    const waiting = client.request('runs')
    await Promise.all([
      assert.rejects(call, { message: /client is closed/ }),
      assert.rejects(waiting, { message: /client is closed/ }),
      client.close()
    ])
  })

  it('is told to connect again after limits.age: calls end on the old one, and go on on the next', async () => {
    await start({ limits: { age: 100 } })
    await using client = clientOf<ReturnType<typeof newService>>({ url })
    const call = client.request('slow', 300)
    while (proxy.made < 3) assert.equal(typeof (await client.request('runs')), 'number')
    assert.equal(await call, 'done')
  })
})

/** The client's state of its connection, and calls that handlers make. */
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { gateway } from '../gateway/index.ts'
import { type Message, microservice, OptionError } from '../index.ts'
import { Ctx, MessagePattern, type RpcContext } from '../nest.ts'
import { fetchJson, listen, newApp } from '../testing/http-app.ts'
import { happening, newService } from '../testing/service.ts'
import { type ClientStatus, type ConnectionEvent, connect, type UntypedClient } from './index.ts'

const cleanups: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

const echo = () => newService().message('echo', ({ data }: Message<number>) => data)

describe('a client that has lost its connection', () => {
  /** A client that has lost its service, and whose first attempt to reconnect was refused. */
  async function orphan(options: { readonly waitForConnection?: number } = {}) {
    const service = echo()
    await service.listen()
    const lost = happening()
    const client = connect<typeof service>({
      ...{ host: '127.0.0.1', port: service.address!.port, reconnect: { minDelay: 5 }, ...options },
      onStatus: (event) => void (event.type === 'status' && event.status === 'reconnecting' && lost.happen())
    })
    cleanups.push(() => client.close())
    await client.request('echo', 1)
    await service.stop()
    await lost.happened
    const attempt = { waitForConnection: 5 }
    let error: { readonly reason?: unknown } = {}
    while (error.reason === undefined) error = await client.request('echo', 1, attempt).catch((why) => why)
    return client
  }
  const refused = { name: 'ConnectionError', mayHaveRun: false, reason: 'ECONNREFUSED', pattern: 'echo' }
  const message = /^No connection within \d+ ms \(waitForConnection\): /

  it('lets calls wait as long as it says, and no longer', async () => {
    const client = await orphan({ waitForConnection: 50 })
    await assert.rejects(client.request('echo', 1), { ...refused, message })
    const untyped: UntypedClient = client as never
    await assert.rejects(untyped.emit('echo', 1), { name: 'ConnectionError', message })
    await assert.rejects(
      async () => {
        for await (const _ of untyped.stream('echo')) assert.fail()
      },
      { message }
    )
  })

  it('lets a call say how long it waits', async () => {
    const client = await orphan()
    await assert.rejects(client.request('echo', 1, { waitForConnection: 50 }), { ...refused, message })
  })

  it('answers a request of HTTP soon', async () => {
    const logger = { error() {}, warn() {} }
    const client = await orphan()
    const http = await listen(newApp().use(gateway(client, { 'GET /echo': 'echo' as never }, { logger })))
    cleanups.push(async () => void (await http.stop()))
    const response = await fetch(`${http.url}/echo`)
    assert.deepEqual([response.status, response.headers.get('retry-after')], [503, '1'])
  })

  it('refuses times that are none', () => {
    assert.throws(() => connect({ waitForConnection: -1 }), { path: 'options.waitForConnection' })
    assert.throws(() => gateway(connect(), { 'GET /x': 'x' }, { waitForConnection: 0.5 }), OptionError)
  })
})

describe('the status of a client', () => {
  it('is that of now, and listeners are told of every change, to its end', async () => {
    const service = echo()
    await service.listen()
    const { port } = service.address!
    const lost = happening()
    const told: ClientStatus[] = []
    const client = connect<typeof service>({
      ...{ host: '127.0.0.1', port, reconnect: { minDelay: 5 } },
      onStatus: (event) => void (event.type === 'status' && told.push(event.status))
    })
    const seen: ClientStatus[] = [client.status]
    client.onStatus((event) => {
      if (event.type !== 'status') return
      seen.push(event.status)
      assert.equal(client.status, event.status)
      if (event.status === 'reconnecting') lost.happen()
    })
    await client.request('echo', 1)
    assert.equal(client.status, 'connected')
    await service.stop()
    await lost.happened
    const again = microservice({ transport: 'tcp', host: '127.0.0.1', port }).message(
      'echo',
      ({ data }) => data
    )
    await again.listen()
    cleanups.push(() => again.stop())
    assert.equal(await client.request('echo', 2), 2)
    await client.close()
    assert.equal(client.status, 'closed')
    assert.deepEqual(seen, ['disconnected', 'connecting', 'connected', 'reconnecting', 'connected', 'closed'])
    assert.deepEqual(told, seen.slice(1))
  })

  it('comes with events, until the listener is taken away', async () => {
    const service = echo()
    await service.listen()
    cleanups.push(() => service.stop())
    const client = connect<typeof service>({ url: [`127.0.0.1:${service.address!.port}`] })
    cleanups.push(() => client.close())
    const events: ConnectionEvent['type'][] = []
    const stop = client.onStatus(({ type }) => events.push(type))
    await client.request('echo', 1)
    assert.deepEqual(events, ['status', 'connected', 'status'])
    stop()
    await client.close()
    assert.equal(events.length, 3)
  })
})

describe('a call of a handler', () => {
  /** A service `inner`, and a service `outer` whose handlers call `inner`; a client and a gateway call `outer`. */
  async function chain() {
    const started = happening()
    const aborted = happening()
    const inner = newService()
      .message('left', ({ timeout }) => timeout ?? -1)
      .message('wait', ({ signal }) => {
        started.happen()
        signal.addEventListener('abort', () => aborted.happen())
        return new Promise<number>(() => {})
      })
    await inner.listen()
    const down = connect<typeof inner>({ host: '127.0.0.1', port: inner.address!.port })
    class Controller {
      @MessagePattern('of a controller')
      async left(@Ctx() context: RpcContext) {
        await new Promise((resolve) => setImmediate(resolve))
        return down.request('left', undefined, { within: context })
      }
    }
    const outer = microservice({ transport: 'tcp', host: '127.0.0.1', port: 0, controllers: [Controller] })
      .derive(() => ({ hooked: true }))
      .message('of a handler', (message) => down.request('left', undefined, { within: message }))
      .message('of a stream', (message) => down.send('left', undefined, { within: message }))
      .message('waiting', (message) => down.request('wait', undefined, { within: message }))
    await outer.listen()
    const client = connect({ host: '127.0.0.1', port: outer.address!.port })
    cleanups.push(
      ...[inner, outer].map((service) => () => service.stop()),
      ...[down, client].map((each) => () => each.close())
    )
    return { client, started, aborted }
  }

  it('has what is left of the time of its message', async () => {
    const { client } = await chain()
    for (const pattern of ['of a handler', 'of a stream', 'of a controller']) {
      const left = await client.request<number>(pattern, undefined, { timeout: 4_000 })
      assert.ok(left > 0 && left <= 4_000, `${pattern}: ${left}`)
      const byDefault = await client.request<number>(pattern)
      assert.ok(byDefault > 4_000 && byDefault <= 30_000, `${pattern}: ${byDefault}`)
    }
  })

  it('has what is left of the time of an HTTP request', async () => {
    const { client } = await chain()
    const app = await listen(newApp().use(gateway(client, { 'GET /left': 'of a controller' })))
    cleanups.push(async () => void (await app.stop()))
    const headers = { 'x-request-timeout': '3000' }
    const { body } = await fetchJson(app.url, '/left', { headers })
    assert.ok(Number(body) > 0 && Number(body) <= 3_000, String(body))
  })

  it('is given up with its message', async () => {
    const { client, started, aborted } = await chain()
    const controller = new AbortController()
    const asked = client.request('waiting', undefined, { signal: controller.signal })
    await started.happened
    controller.abort()
    await assert.rejects(asked, { code: 'CANCELED' })
    await aborted.happened
  })
})

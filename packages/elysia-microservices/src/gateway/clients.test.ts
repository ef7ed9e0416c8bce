import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { Elysia } from 'elysia'
import { connect } from '../client/index.ts'
import { type Message, microservice, RpcError } from '../index.ts'
import { ask, itUnderBun, type Listening, listen, newApp } from '../testing/http-app.ts'
import { happening } from '../testing/service.ts'
import { callOptions, clients, gateway } from './index.ts'

const logger = { error: () => {}, warn: () => {} }
let aborted = happening()
let started = happening()

const service = microservice({ transport: 'tcp', host: '127.0.0.1', port: 0, logger })
  .message('greet', ({ data }: Message<string>) => `Hello ${data}`)
  .message('fail', () => {
    throw new RpcError({ code: 'NOT_FOUND', message: 'Nobody' })
  })
  .message('context', ({ headers, timeout }) => ({ headers, timeout }))
  .message('slow', ({ signal }) => {
    started.happen()
    signal.addEventListener('abort', () => aborted.happen())
    return new Promise<string>(() => {})
  })

const connectToService = () => connect<typeof service>({ host: '127.0.0.1', port: service.address!.port })
let users: ReturnType<typeof connectToService>
let http: Listening

before(async () => {
  await service.listen()
  users = connectToService()
  http = await listen(
    newApp()
      .use(clients({ users }, { errors: { NOT_FOUND: 410 }, logger }))
      .get('/greet/:name', ({ users, params }) => users.request('greet', params.name))
      .get('/fail', ({ users }) => users.request('fail'))
      .get('/own', () => {
        throw new Error('of the app')
      })
      .get('/slow', ({ users, ...context }) => users.request('slow', undefined, callOptions(context)))
      .get('/context', ({ users, ...context }) =>
        users.request('context', undefined, callOptions(context, { timeout: 800 }))
      )
  )
})
after(async () => {
  await http.stop()
  await users.close()
  await service.stop()
})

describe('a client as a decorator', () => {
  it('is there in handlers', async () => {
    assert.equal(await (await fetch(`${http.url}/greet/Ada`)).text(), 'Hello Ada')
  })

  it('has its errors answered as those of a gateway', async () => {
    const response = await fetch(`${http.url}/fail`)
    assert.equal(response.status, 410)
    assert.deepEqual(await response.json(), { code: 'NOT_FOUND', message: 'Nobody' })
  })

  it('leaves other errors to Elysia', async () => {
    const response = await fetch(`${http.url}/own`)
    assert.deepEqual([response.status, await response.text()], [500, 'of the app'])
  })

  it('lets its calls follow the request', async () => {
    const headers = { 'x-request-id': 'r1', authorization: 'secret', 'x-request-timeout': '700' }
    const { headers: passed, timeout } = (await (await fetch(`${http.url}/context`, { headers })).json()) as {
      headers: object
      timeout: number
    }
    assert.deepEqual([passed, timeout], [{ 'x-request-id': 'r1' }, 700])
    started = happening()
    aborted = happening()
    const socket = ask(http.port, 'GET /slow')
    await started.happened
    socket.destroy()
    await aborted.happened
  })

  itUnderBun('is not closed by an app that it was given to', async () => {
    const own = connectToService()
    const app = newApp().use(clients({ own })).use(gateway(own, {}))
    await listen(app)
    await app.stop()
    assert.equal(await own.request('greet', 'Ada'), 'Hello Ada')
    await own.close()
  })

  itUnderBun('of a gateway in two apps is closed by the last of them', async () => {
    const api = gateway(connectToService, { 'GET /context': 'context' })
    const [open, admin] = [newApp().use(api), newApp().use(api)]
    const [{ url }] = [await listen(open), await listen(admin)]
    await admin.stop()
    assert.equal((await fetch(`${url}/context`)).status, 200)
    await open.stop()
    const again = newApp().use(api)
    const { url: later } = await listen(again)
    assert.equal((await fetch(`${later}/context`)).status, 503)
    await again.stop()
  })

  itUnderBun('is closed by the app that made it, once its requests are answered', async () => {
    const made: ReturnType<typeof connectToService>[] = []
    const make = () => {
      const client = connectToService()
      made.push(client)
      return client
    }
    const inner = new Elysia()
      .use(clients({ users: make }))
      .get('/slow', async ({ users }) => {
        await answer.happened
        return users.request('greet', 'Ada')
      })
      .use(gateway(make, { 'GET /context': 'context' }))
    const answer = happening()
    const app = newApp().use(inner)
    const { url } = await listen(app)
    assert.equal((await fetch(`${url}/context`)).status, 200)
    const slow = fetch(`${url}/slow`)
    await fetch(`${url}/context`)
    const stopped = app.stop()
    answer.happen()
    assert.equal(await (await slow).text(), 'Hello Ada')
    await stopped
    assert.equal(made.length, 2)
    for (const client of made) await assert.rejects(client.request('greet', 'Ada'), { code: 'CONNECTION' })
  })
})

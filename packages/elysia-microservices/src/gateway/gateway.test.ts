import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Elysia, status } from 'elysia'
import { type Message, microservice } from '../index.ts'
import { behindGateway } from '../testing/behind-gateway.ts'
import { fetchJson, listen, newApp, sending } from '../testing/http-app.ts'
import { happening } from '../testing/service.ts'
import { gateway } from './index.ts'

let placed = happening<unknown>()

const service = microservice({ transport: 'tcp', host: '127.0.0.1', port: 0 })
  .message('echo', ({ data }: Message<unknown>) => (data === undefined ? 'nothing' : data))
  .message('value', ({ data }: Message<{ of: string }>) => JSON.parse(data.of) as unknown)
  .message('undefined', () => undefined)
  .message({ cmd: 'object' }, () => 'by object')
  .message('values', async function* () {
    yield 1
  })
  .event('placed', ({ data }: Message<{ id: string }>) => {
    placed.happen(data)
  })

const http = behindGateway(service, (client) =>
  gateway(client, {
    'GET /value': 'value',
    'GET /undefined': 'undefined',
    'GET /values': { stream: 'values' },
    'POST /created': { pattern: 'echo', status: 201 },
    'POST /done': { pattern: 'echo', status: 204 },
    'POST /reset': { pattern: 'echo', status: 205 },
    'POST /created-nothing': { pattern: 'undefined', status: 201 },
    'GET /object': { pattern: { cmd: 'object' } },
    'POST /placed/:id': { emit: 'placed' },
    'POST /placed': { emit: 'placed', status: 204 }
  })
)

describe('the answer of a route', () => {
  for (const value of [
    '"text"',
    '1',
    'true',
    'null',
    '[]',
    '{"a":{"b":[1]}}',
    '{"constructor":{"name":"Blob"}}'
  ]) {
    it(`is JSON: ${value}`, async () => {
      const response = await fetch(`${http.url}/value?of=${encodeURIComponent(value)}`)
      assert.match(response.headers.get('content-type') ?? '', /^application\/json/)
      assert.equal(await response.text(), value)
    })
  }

  it('is never taken for another type by a browser', async () => {
    for (const [path, status] of [
      ['/value?of=1', 200],
      ['/value?of=', 500],
      ['/values', 200]
    ] as const) {
      const response = await fetch(`${http.url}${path}`)
      await response.text()
      assert.deepEqual(
        [response.status, response.headers.get('x-content-type-options')],
        [status, 'nosniff'],
        path
      )
    }
  })

  it('is 204 without a body for undefined', async () => {
    assert.deepEqual(await fetchJson(http.url, '/undefined'), { status: 204, body: undefined })
  })

  it('has the status of the route', async () => {
    assert.deepEqual(await fetchJson(http.url, '/created', sending('POST', { a: 1 })), {
      status: 201,
      body: { a: 1 }
    })
    assert.deepEqual(await fetchJson(http.url, '/created-nothing', { method: 'POST' }), {
      status: 201,
      body: undefined
    })
  })

  it('has no body with a status that has none', async () => {
    for (const [path, status] of [
      ['/done', 204],
      ['/reset', 205]
    ] as const)
      assert.deepEqual(await fetchJson(http.url, path, sending('POST', { a: 1 })), {
        status,
        body: undefined
      })
  })

  it('comes from a pattern that is an object', async () => {
    assert.deepEqual(await fetchJson(http.url, '/object'), { status: 200, body: 'by object' })
  })

  it('is 202 for an event that was handed over', async () => {
    placed = happening()
    assert.deepEqual(await fetchJson(http.url, '/placed/7', sending('POST', { n: 1 })), {
      status: 202,
      body: undefined
    })
    assert.deepEqual(await placed.happened, { n: 1, id: '7' })
    assert.equal((await fetchJson(http.url, '/placed', sending('POST', { id: 'a' }))).status, 204)
  })
})

describe('a gateway in an app', () => {
  it('is guarded by hooks of the app, whose values its functions get', async () => {
    const app = newApp()
      .derive(({ headers }) => ({ user: headers['authorization'] }))
      .onBeforeHandle(({ user }) => (user === undefined ? status(401, 'Who are you?') : undefined))
      .use(gateway(http.client, { 'GET /me': { pattern: 'echo', data: (context) => context['user'] } }))
      .get('/own', ({ user }) => user)
    const { url, stop } = await listen(app)
    assert.equal((await fetch(`${url}/me`)).status, 401)
    const init = { headers: { authorization: 'Ada' } }
    assert.deepEqual(await fetchJson(url, '/me', init), { status: 200, body: 'Ada' })
    assert.equal(await (await fetch(`${url}/own`, init)).text(), 'Ada')
    await stop()
  })

  it('stands behind the prefix of the app', async () => {
    const inner = new Elysia({ prefix: '/v1' }).use(
      gateway(http.client, { 'GET /object': { pattern: { cmd: 'object' } } })
    )
    const { url, stop } = await listen(newApp().use(inner))
    assert.equal((await fetchJson(url, '/v1/object')).body, 'by object')
    await stop()
  })

  it('tells Bun to wait longer than the call may take, and for a stream without end', async () => {
    const told: [string, number][] = []
    const server = {
      timeout: (request: Request, seconds: number) => told.push([new URL(request.url).pathname, seconds])
    }
    const app = new Elysia().use(
      gateway(http.client, {
        'GET /default': { pattern: { cmd: 'object' } },
        'GET /short': { pattern: { cmd: 'object' }, timeout: 1500 },
        'GET /long': { pattern: { cmd: 'object' }, timeout: 3_600_000 },
        'GET /without': { pattern: { cmd: 'object' }, timeout: false },
        'GET /stream': { stream: 'values' }
      })
    )
    app.server = server as never
    for (const path of ['/default', '/short', '/long', '/without', '/stream']) {
      await (await app.handle(new Request(`http://localhost${path}`))).text()
    }
    assert.deepEqual(told, [
      ['/default', 35],
      ['/short', 7],
      ['/long', 0],
      ['/without', 0],
      ['/stream', 0]
    ])
  })
})

describe('gateway()', () => {
  for (const [routes, options, path] of [
    [{ 'FETCH /a': 'echo' }, {}, "routes['FETCH /a']"],
    [{ 'GET /a': null }, {}, "routes['GET /a']"],
    [{ 'GET /a': {} }, {}, "routes['GET /a']"],
    [{ 'GET /a': { pattern: 'echo', emit: 'placed' } }, {}, "routes['GET /a']"],
    [{ 'GET /a': { pattern: 'echo', stauts: 201 } }, {}, "routes['GET /a'].stauts"],
    [{ 'GET /a': { pattern: 'echo', status: 404 } }, {}, "routes['GET /a'].status"],
    [{ 'GET /a': { stream: 'echo', status: 201 } }, {}, "routes['GET /a'].status"],
    [{ 'GET /a': { stream: 'echo', heartbeat: 0 } }, {}, "routes['GET /a'].heartbeat"],
    [{ 'GET /a': { pattern: 'echo', data: 1 } }, {}, "routes['GET /a'].data"],
    [{ 'GET /a': { pattern: 'echo', timeout: -1 } }, {}, 'options.timeout'],
    [{ 'GET /a': 'echo' }, { timeout: 2 ** 31 }, 'options.timeout'],
    [{ 'GET /a': 'echo' }, { timeoutHeader: 1 }, 'options.timeoutHeader'],
    [{ 'GET /a': 'echo' }, { headers: [1] }, 'options.headers'],
    [{ 'GET /a': { pattern: 'echo', idempotent: 'yes' } }, {}, 'options.idempotent'],
    [{ 'GET /a': { pattern: 'echo', key: 7 } }, {}, 'options.key'],
    [{ 'GET /a': { pattern: 'echo', within: { remaining: 1 } } }, {}, 'options.within'],
    [{ 'POST /a': { emit: 'placed', idempotent: true } }, {}, "routes['POST /a'].idempotent"],
    [{}, { errors: { GONE: 200 } }, 'options.errors.GONE'],
    [{}, { retryAfter: -1 }, 'options.retryAfter'],
    [{ 'GET /a': 'echo' }, { timeout: 0 }, 'options.timeout']
  ] as const) {
    it(`refuses ${JSON.stringify(routes)} with ${JSON.stringify(options)}`, () => {
      assert.throws(() => gateway(http.client, routes as never, options as never), {
        name: 'OptionError',
        path
      })
    })
  }
})

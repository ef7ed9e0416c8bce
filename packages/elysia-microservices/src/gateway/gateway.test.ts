import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type Elysia, t } from 'elysia'
import { connect } from '../client/index.ts'
import { type Message, microservice } from '../index.ts'
import { ask, happening, type Listening, listen, newApp } from '../testing/http-app.ts'
import { gateway } from './index.ts'

const events: unknown[] = []
let placed = happening<unknown>()
const slow = { started: happening(), aborted: happening() }

const service = microservice({ transport: 'tcp', host: '127.0.0.1', port: 0 })
  .message('echo', ({ data }: Message<unknown>) => (data === undefined ? 'nothing' : data))
  .message('headers', ({ headers }) => headers)
  .message('deadline', ({ deadline }) => deadline)
  .message('value', ({ data }: Message<{ of: string }>) => JSON.parse(data.of) as unknown)
  .message('undefined', () => undefined)
  .message('sum', ({ data }: Message<number[]>) => data.reduce((a, b) => a + b, 0))
  .message({ cmd: 'object' }, () => 'by object')
  .message('slow', ({ signal }) => {
    slow.started.happen()
    signal.addEventListener('abort', () => slow.aborted.happen())
    return new Promise<string>(() => {})
  })
  .event('placed', ({ data }: Message<{ id: string }>) => {
    events.push(data)
    placed.happen(data)
  })

const client = connect<typeof service>({})
let owned: typeof client
let http: Listening

/** The routes under test, on a real port before a real service. */
function newGateway(): Elysia {
  owned = connect<typeof service>({ host: '127.0.0.1', port: service.address!.port })
  return gateway(
    owned,
    {
      'GET /echo/:id': 'echo',
      'DELETE /echo/:id': 'echo',
      'GET /echo': 'echo',
      'POST /echo': 'echo',
      'PUT /echo/:id': 'echo',
      'GET /maybe/:id?': 'echo',
      'GET /files/*': 'echo',
      'POST /declared/:id': {
        pattern: 'echo',
        params: t.Object({ id: t.Number() }),
        query: t.Object({ dry: t.Optional(t.Boolean()) }),
        body: t.Object({ name: t.String() })
      },
      'POST /mapped/:id': {
        pattern: 'sum',
        params: t.Object({ id: t.Number() }),
        body: t.Object({ more: t.Array(t.Number()) }),
        data: ({ params, body }) => [params.id, ...body.more]
      },
      'GET /mapped-later': { pattern: 'echo', data: async ({ headers }) => headers['x-name'] },
      'GET /value': 'value',
      'GET /undefined': 'undefined',
      'POST /created': { pattern: 'echo', status: 201 },
      'POST /created-nothing': { pattern: 'undefined', status: 201 },
      'GET /object': { pattern: { cmd: 'object' } },
      'GET /headers': 'headers',
      'GET /own-headers': { pattern: 'headers', headers: ['X-Tenant'] },
      'GET /more-headers': {
        pattern: 'headers',
        headers: ({ headers }) => ({ tenant: headers['x-tenant'], none: undefined })
      },
      'GET /deadline': 'deadline',
      'GET /short-deadline': { pattern: 'deadline', timeout: 1000 },
      'GET /own-deadline': { pattern: 'deadline', timeout: 1000, timeoutHeader: 'grpc-timeout' },
      'GET /no-header': { pattern: 'deadline', timeoutHeader: false },
      'GET /slow': 'slow',
      'POST /placed/:id': { emit: 'placed' },
      'POST /placed': { emit: 'placed', status: 204 }
    },
    { timeout: 5000 }
  )
}

async function fetchJson(path: string, init?: RequestInit) {
  const response = await fetch(http.url + path, init)
  const text = await response.text()
  return { status: response.status, body: text === '' ? undefined : (JSON.parse(text) as unknown) }
}

function sending(method: string, body: unknown): RequestInit {
  return { method, body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }
}

before(async () => {
  await service.listen()
  http = await listen(newApp().use(newGateway()))
})
after(async () => {
  await http.stop()
  await owned.close()
  await client.close()
  await service.stop()
})

describe('the data a route sends', () => {
  for (const [what, path, init, expected] of [
    ['the parameters of the path', '/echo/7', {}, { id: '7' }],
    ['query and parameters of a GET', '/echo/7?a=1&b=x', {}, { a: '1', b: 'x', id: '7' }],
    ['query and parameters of a DELETE', '/echo/7?a=1', { method: 'DELETE' }, { a: '1', id: '7' }],
    ['an empty object for a GET with nothing', '/echo', {}, {}],
    ['what of an optional parameter is there', '/maybe/7', {}, { id: '7' }],
    ['no optional parameter that is not there', '/maybe', {}, {}],
    ['the rest of the path', '/files/a/b.txt', {}, { '*': 'a/b.txt' }],
    ['a body that is an object', '/echo', sending('POST', { a: 1 }), { a: 1 }],
    ['a body that is a list', '/echo', sending('POST', [1, 2]), [1, 2]],
    ['no query of a POST that has no schema for it', '/echo?a=1', sending('POST', { b: 2 }), { b: 2 }],
    ['nothing for a POST without a body', '/echo', { method: 'POST' }, 'nothing'],
    ['body and parameters', '/echo/7', sending('PUT', { a: 1 }), { a: 1, id: '7' }],
    ['parameters over the body', '/echo/7', sending('PUT', { id: '8' }), { id: '7' }],
    ['parameters over the query', '/echo/7?id=8', {}, { id: '7' }],
    [
      'what schemas made of it',
      '/declared/7?dry=true',
      sending('POST', { name: 'a' }),
      { dry: true, name: 'a', id: 7 }
    ],
    ['what the function of the route returns', '/mapped/1', sending('POST', { more: [2, 3] }), 6],
    ['what the function of the route promises', '/mapped-later', { headers: { 'x-name': 'Ada' } }, 'Ada']
  ] as [string, string, RequestInit, unknown][]) {
    it(`is ${what}`, async () => {
      assert.deepEqual(await fetchJson(path, init), { status: 200, body: expected })
    })
  }

  it('cannot be made of a list and parameters', async () => {
    assert.deepEqual(await fetchJson('/echo/7', sending('PUT', [1])), {
      status: 422,
      body: {
        code: 'VALIDATION',
        message: 'body: expected an object',
        details: { path: 'body', expected: 'an object' }
      }
    })
  })

  for (const [path, body, place, expected] of [
    ['/declared/x', { name: 'a' }, 'params.id', 'expected number'],
    ['/declared/1?dry=x', { name: 'a' }, 'query.dry', 'expected boolean'],
    ['/declared/1', { name: 1 }, 'body.name', 'expected string'],
    ['/mapped/1', { more: [1, 'x'] }, 'body.more[1]', 'expected number']
  ] as const) {
    it(`is refused with 422 where it breaks a schema: ${place}`, async () => {
      const { status, body: answer } = await fetchJson(path, sending('POST', body))
      const { code, message, details } = answer as {
        code: string
        message: string
        details: { path: string }
      }
      assert.deepEqual([status, code, details.path], [422, 'VALIDATION', place])
      assert.ok(message.startsWith(`${place}: ${expected}`), message)
    })
  }

  it('is refused with 400 where the body is not what its type says', async () => {
    const init = { method: 'POST', body: '{', headers: { 'content-type': 'application/json' } }
    assert.deepEqual(await fetchJson('/echo', init), {
      status: 400,
      body: { code: 'PARSE', message: 'The body is not what its content type says' }
    })
  })
})

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

  it('is 204 without a body for undefined', async () => {
    assert.deepEqual(await fetchJson('/undefined'), { status: 204, body: undefined })
  })

  it('has the status of the route', async () => {
    assert.deepEqual(await fetchJson('/created', sending('POST', { a: 1 })), { status: 201, body: { a: 1 } })
    assert.deepEqual(await fetchJson('/created-nothing', { method: 'POST' }), {
      status: 201,
      body: undefined
    })
  })

  it('comes from a pattern that is an object', async () => {
    assert.deepEqual(await fetchJson('/object'), { status: 200, body: 'by object' })
  })

  it('is 202 for an event that was handed over', async () => {
    placed = happening()
    assert.deepEqual(await fetchJson('/placed/7', sending('POST', { n: 1 })), {
      status: 202,
      body: undefined
    })
    assert.deepEqual(await placed.happened, { n: 1, id: '7' })
    assert.equal((await fetchJson('/placed', sending('POST', { id: 'a' }))).status, 204)
  })
})

describe('the headers of a request', () => {
  const headers = {
    traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
    tracestate: 'a=b',
    'x-request-id': 'r1',
    authorization: 'Bearer secret',
    cookie: 'session=secret',
    'x-tenant': 't1'
  }
  const { traceparent, tracestate } = headers
  const passed = { traceparent, tracestate, 'x-request-id': 'r1' }

  for (const [what, path, expected] of [
    ['of tracing and the request id reach the service, and no others', '/headers', passed],
    ['reach the service by the list of the route', '/own-headers', { 'x-tenant': 't1' }],
    [
      'reach the service as the function of the route makes them, beside the default',
      '/more-headers',
      { ...passed, tenant: 't1' }
    ]
  ] as const) {
    it(what, async () => {
      assert.deepEqual((await fetchJson(path, { headers })).body, expected)
    })
  }
})

describe('the deadline of a call', () => {
  for (const [what, path, headers, expected] of [
    ['is that of the gateway', '/deadline', {}, 5000],
    ['is that of the route', '/short-deadline', {}, 1000],
    ['is made shorter by a header', '/deadline', { 'x-request-timeout': '700' }, 700],
    ['is made no longer by a header', '/deadline', { 'x-request-timeout': '60000' }, 5000],
    ['is made shorter by the header of the route', '/own-deadline', { 'grpc-timeout': '600' }, 600],
    [
      'is not that of a header the route does not read',
      '/own-deadline',
      { 'x-request-timeout': '600' },
      1000
    ],
    ['is no header’s if the route wants none', '/no-header', { 'x-request-timeout': '600' }, 5000]
  ] as const) {
    it(what, async () => {
      assert.deepEqual(await fetchJson(path, { headers }), { status: 200, body: expected })
    })
  }

  for (const text of ['0', '-1', 'soon', '1.5', '1e3', '9'.repeat(16)]) {
    it(`cannot be '${text}'`, async () => {
      const { status, body } = await fetchJson('/deadline', { headers: { 'x-request-timeout': text } })
      assert.equal(status, 422)
      assert.equal((body as { code: string }).code, 'VALIDATION')
    })
  }

  it('is answered with 504 when it has passed, and the handler is told', async () => {
    Object.assign(slow, { started: happening(), aborted: happening() })
    const { status, body } = await fetchJson('/slow', { headers: { 'x-request-timeout': '50' } })
    assert.deepEqual(
      [status, body],
      [504, { code: 'TIMEOUT', message: 'The service did not answer in time' }]
    )
    await slow.aborted.happened
  })
})

describe('a client that leaves', () => {
  it('makes the signal of the handler abort when it hangs up', async () => {
    Object.assign(slow, { started: happening(), aborted: happening() })
    const socket = ask(http.port, 'GET /slow')
    await slow.started.happened
    socket.destroy()
    await slow.aborted.happened
  })

  it('makes the signal of the handler abort when it aborts its fetch', async () => {
    Object.assign(slow, { started: happening(), aborted: happening() })
    const controller = new AbortController()
    const answer = fetch(`${http.url}/slow`, { signal: controller.signal })
    await slow.started.happened
    controller.abort()
    await assert.rejects(answer, { name: 'AbortError' })
    await slow.aborted.happened
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
    [{}, { errors: { GONE: 200 } }, 'options.errors.GONE'],
    [{}, { retryAfter: 0.5 }, 'options.retryAfter']
  ] as const) {
    it(`refuses ${JSON.stringify(routes)} with ${JSON.stringify(options)}`, () => {
      assert.throws(() => gateway(client, routes as never, options as never), {
        name: 'ValidationError',
        path
      })
    })
  }
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { microservice } from '../index.ts'
import { behindGateway } from '../testing/behind-gateway.ts'
import { ask, fetchJson } from '../testing/http-app.ts'
import { happening } from '../testing/service.ts'
import { gateway } from './index.ts'

const logger = { error: () => {}, warn: () => {} }
const slow = { started: happening(), aborted: happening() }

const service = microservice({ transport: 'tcp', host: '127.0.0.1', port: 0 })
  .message('headers', ({ headers }) => headers)
  .message('deadline', ({ timeout }) => timeout)
  .message('slow', ({ signal }) => {
    slow.started.happen()
    signal.addEventListener('abort', () => slow.aborted.happen())
    return new Promise<string>(() => {})
  })

const http = behindGateway(service, (client) =>
  gateway(
    client,
    {
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
      'GET /slow': 'slow'
    },
    { timeout: 5000, logger }
  )
)

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
      assert.deepEqual((await fetchJson(http.url, path, { headers })).body, expected)
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
      assert.deepEqual(await fetchJson(http.url, path, { headers }), { status: 200, body: expected })
    })
  }

  for (const text of ['0', '-1', 'soon', '1.5', '1e3', '9'.repeat(16)]) {
    it(`cannot be '${text}'`, async () => {
      const { status, body } = await fetchJson(http.url, '/deadline', {
        headers: { 'x-request-timeout': text }
      })
      assert.equal(status, 422)
      assert.equal((body as { code: string }).code, 'VALIDATION')
    })
  }

  it('is answered with 504 when it has passed, and the handler is told', async () => {
    Object.assign(slow, { started: happening(), aborted: happening() })
    const { status, body } = await fetchJson(http.url, '/slow', { headers: { 'x-request-timeout': '50' } })
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

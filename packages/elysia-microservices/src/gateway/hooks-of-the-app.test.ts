/**
 * How hooks of the app see a gateway's answers, and the id by which a request is found in the logs of all
 * processes.
 */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { connect } from '../client/index.ts'
import { type Message, microservice, RpcError } from '../index.ts'
import { type Listening, listen, newApp } from '../testing/http-app.ts'
import { clients, gateway } from './index.ts'

const logged: string[] = []
const logger = {
  error: (line: string) => void logged.push(line),
  warn: (line: string) => void logged.push(line)
}
const seen: [path: string, status: unknown][] = []

const service = microservice({ transport: 'tcp', host: '127.0.0.1', port: 0, logger })
  .message('orders.fail', ({ data }: Message<{ code: string }>) => {
    throw new RpcError({ code: data.code })
  })
  .message('orders.break', () => {
    throw new Error('of the inside')
  })
  .message('orders.nothing', () => undefined)
  .message('orders.headers', ({ headers }) => headers)
  .event('orders.event', () => {})

let http: Listening
before(async () => {
  await service.listen()
  const own = () => connect({ host: '127.0.0.1', port: service.address!.port })
  const client = own()
  const app = newApp()
    .onAfterResponse(({ path, set }) => void seen.push([path, set.status]))
    .use(
      gateway(
        client,
        {
          'GET /fail': 'orders.fail',
          'GET /break': 'orders.break',
          'POST /created': { pattern: 'orders.headers', status: 201 },
          'GET /nothing': 'orders.nothing',
          'GET /headers': 'orders.headers',
          'GET /bare-headers': { pattern: 'orders.headers', headers: ['x-tenant'] },
          'POST /event': { emit: 'orders.event' },
          'GET /stream-fail': { stream: 'orders.fail' }
        },
        { logger }
      )
    )
    .use(clients({ client }, { logger }))
    .get('/by-hand', ({ client: orders }) => orders.request('orders.fail', { code: 'CONFLICT' }))
  http = await listen(app)
  http.stop = ((stop) => async () => {
    await stop()
    await client.close()
  })(http.stop)
})
after(async () => {
  await http.stop()
  await service.stop()
})

describe("the app's onAfterResponse", () => {
  for (const [method, path, status] of [
    ['GET', '/headers', 200],
    ['POST', '/created', 201],
    ['GET', '/nothing', 204],
    ['POST', '/event', 202],
    ['GET', '/fail?code=NOT_FOUND', 404],
    ['GET', '/fail?code=CONFLICT', 409],
    ['GET', '/stream-fail?code=GONE', 410],
    ['GET', '/break', 500],
    ['GET', '/by-hand', 409]
  ] as const) {
    it(`sees ${status} for ${method} ${path}`, async () => {
      seen.length = 0
      const response = await fetch(http.url + path, { method })
      await response.arrayBuffer()
      assert.equal(response.status, status)
      // Elysia runs the hook only after it has begun to send the response.
      while (seen.length === 0) await new Promise((resolve) => setTimeout(resolve, 1))
      assert.deepEqual(seen, [[path.split('?')[0], status]])
    })
  }
})

describe('the id of a request', () => {
  const idOf = (response: Response) => response.headers.get('x-request-id')

  it('that the caller sends is in the response, at the service and in the log', async () => {
    const headers = { 'x-request-id': 'r-1' }
    const response = await fetch(`${http.url}/headers`, { headers })
    assert.equal(idOf(response), 'r-1')
    assert.deepEqual(await response.json(), headers)
    logged.length = 0
    assert.equal(idOf(await fetch(`${http.url}/break`, { headers })), 'r-1')
    assert.deepEqual(
      logged.filter((line) => line.startsWith('GET')),
      ['GET /break (orders.break, request r-1) is answered with 500 INTERNAL: Internal server error']
    )
  })

  it('is made where the caller sends none, or one that is no id', async () => {
    const made = new Set<string | null>()
    for (const headers of [{}, { 'x-request-id': 'two words' }, { 'x-request-id': 'x'.repeat(200) }]) {
      const response = await fetch(`${http.url}/headers`, { headers: headers as Record<string, string> })
      assert.match(String(idOf(response)), /^[0-9a-f-]{36}$/)
      assert.deepEqual(await response.json(), { 'x-request-id': idOf(response) })
      made.add(idOf(response))
    }
    assert.equal(made.size, 3)
  })

  it('is in the response where it does not reach the service, and in those of errors', async () => {
    const bare = await fetch(`${http.url}/bare-headers`)
    assert.notEqual(idOf(bare), null)
    assert.deepEqual(await bare.json(), {})
    assert.notEqual(idOf(await fetch(`${http.url}/fail?code=X`)), null)
    assert.notEqual(idOf(await fetch(`${http.url}/stream-fail?code=X`)), null)
  })
})

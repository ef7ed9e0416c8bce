/** The options of a gateway's calls: whether they may be retried, which server is called, and within what time. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { connect, type UntypedClient } from '../client/index.ts'
import { microservice } from '../index.ts'
import { behindGateway } from '../testing/behind-gateway.ts'
import { fetchJson, type Listening, listen, newApp } from '../testing/http-app.ts'
import { newService } from '../testing/service.ts'
import { callOptions, gateway } from './index.ts'

const silent = { error() {}, warn() {} }
let calls = 0

/** A service that closes the connection at each call of `count`, so that no caller knows whether the call was done. */
const fragile = microservice({
  ...{ transport: 'tcp', host: '127.0.0.1', port: 0, logger: silent },
  chaos: { seed: 1, rules: [{ pattern: 'count', probability: 1, drop: true }] }
})
  .message('count', () => ++calls)
  .message('deadline', ({ timeout }) => timeout)

const http = behindGateway(
  fragile,
  (client) =>
    gateway(
      client,
      {
        'GET /count': 'count',
        'HEAD /count': 'count',
        'POST /count': 'count',
        'DELETE /count': 'count',
        'GET /once': { pattern: 'count', idempotent: false },
        'PUT /twice': { pattern: 'count', idempotent: true },
        'GET /deadline': {
          pattern: 'deadline',
          within: ({ query }) =>
            query['left'] === undefined ? undefined : { remaining: Number(query['left']) }
        }
      },
      { logger: silent, timeout: 5_000 }
    ),
  { reconnect: { minDelay: 1, maxDelay: 1 } }
)

describe('a call of a gateway whose connection is lost', () => {
  for (const [method, path, isRepeated] of [
    ['GET', '/count', true],
    ['HEAD', '/count', true],
    ['POST', '/count', false],
    ['DELETE', '/count', false],
    ['GET', '/once', false],
    ['PUT', '/twice', true]
  ] as const) {
    it(`is ${isRepeated ? '' : 'not '}made again: ${method} ${path}`, async () => {
      calls = 0
      const { status } = await fetch(http.url + path, { method })
      assert.deepEqual([status, calls], [502, isRepeated ? 3 : 1])
    })
  }

  it('may be retried by hand as the route may', () => {
    const options = (method: string) => callOptions({ request: new Request('http://localhost/', { method }) })
    assert.equal(options('GET').idempotent, true)
    assert.equal(options('PATCH').idempotent, false)
  })
})

describe('a call of a gateway within something else', () => {
  it('has what is left of its time, if that is less', async () => {
    // The deadline that is passed on is shorter by the time for which the call has waited for a connection.
    for (const [query, above, most] of [
      ['', 300, 5_000],
      ['?left=300', 0, 300],
      ['?left=9000', 300, 5_000]
    ] as const) {
      const told = Number((await fetchJson(http.url, `/deadline${query}`)).body)
      assert.ok(told > above && told <= most, `${query}: ${told}`)
    }
    assert.equal((await fetchJson(http.url, '/deadline?left=0')).status, 504)
  })
})

describe('a key', () => {
  const named = (name: string) => newService().message('name', () => name)
  const services = [named('first'), named('second')]
  const users = Array.from({ length: 64 }, (_, index) => `user ${index}`)
  const namesOf = async (path: string, users: readonly string[]) => {
    const asked = users.map((user) => fetchJson(app.url, path, { headers: { 'x-user': user } }))
    return new Set((await Promise.all(asked)).map(({ body }) => body))
  }
  let client: UntypedClient
  let app: Listening
  before(async () => {
    for (const service of services) await service.listen()
    client = connect({ url: services.map(({ address }) => `127.0.0.1:${address!.port}`) })
    const key = ({ headers }: { headers: Readonly<Record<string, string | undefined>> }) => headers['x-user']
    const routes = gateway(
      client,
      { 'GET /name': 'name', 'GET /fixed': { pattern: 'name', key: 'always the same' } },
      { key }
    )
    app = await listen(newApp().use(routes))
    // The client connects to one server after the other. Until both are connected, one server gets all calls.
    while ((await namesOf('/name', users)).size < services.length);
  })
  after(async () => {
    await app.stop()
    await client.close()
    for (const service of services) await service.stop()
  })

  it('made of the request sends all requests of one user to one server', async () => {
    assert.equal((await namesOf('/name', users)).size, 2)
    for (const user of users.slice(0, 4)) assert.equal((await namesOf('/name', Array(8).fill(user))).size, 1)
  })

  it('of a route sends all its requests to one server', async () => {
    assert.equal((await namesOf('/fixed', ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'])).size, 1)
  })
})

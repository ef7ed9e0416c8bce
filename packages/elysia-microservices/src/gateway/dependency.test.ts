/** A service that another one needs is down: what an HTTP client hears of it. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { Elysia } from 'elysia'
import { connect } from '../client/index.ts'
import { ConnectionError, memory, microservice, OverloadedError, TimeoutError } from '../index.ts'
import { gateway } from './index.ts'

const logger = { error() {}, warn() {} }
const transport = memory()
const stock = connect({ host: '127.0.0.1', port: 1, logger })

const FAILURES = {
  down: () => stock.request('left', 1, { waitForConnection: 0 }),
  lost: () => {
    throw new ConnectionError('10.0.0.1:4000 is lost', true)
  },
  late: () => {
    throw new TimeoutError('left', 5)
  },
  full: () => {
    throw new OverloadedError('limits.sendBuffer allows 5')
  },
  bug: () => {
    throw new Error('the password is 1234')
  }
}

const orders = (['plain', 'telling'] as const).map((group) =>
  microservice({ transport, logger }).group(group, (service) => {
    if (group === 'telling')
      service.onError(({ error }) =>
        error instanceof ConnectionError || error instanceof TimeoutError || error instanceof OverloadedError
          ? error.pass()
          : undefined
      )
    for (const [name, fail] of Object.entries(FAILURES)) service.message(name, fail)
    return service
  })
)
const service = microservice({ transport, logger })
for (const each of orders) service.use(each)
const client = connect({ transport, logger })

const app = new Elysia().use(
  gateway(
    client,
    Object.fromEntries(
      ['plain', 'telling'].flatMap((group) =>
        Object.keys(FAILURES).flatMap((name) => [
          [`GET /${group}/${name}`, `${group}.${name}`],
          [`POST /${group}/${name}`, `${group}.${name}`],
          [`PUT /${group}/${name}`, { pattern: `${group}.${name}`, idempotent: true }]
        ])
      )
    ) as never,
    { logger }
  )
)

before(() => service.listen())
after(async () => {
  await client.close()
  await stock.close()
  await service.stop()
})

const CASES: readonly (readonly [path: string, status: number, code: string, again: readonly string[]])[] = [
  ['/plain/down', 500, 'INTERNAL', []],
  ['/plain/late', 500, 'INTERNAL', []],
  // The handler has begun, so trying again is safe only where the call may run twice.
  ['/telling/down', 503, 'SERVICE_UNAVAILABLE', ['GET', 'PUT']],
  ['/telling/full', 503, 'SERVICE_UNAVAILABLE', ['GET', 'PUT']],
  ['/telling/lost', 502, 'BAD_GATEWAY', []],
  ['/telling/late', 504, 'GATEWAY_TIMEOUT', []],
  ['/telling/bug', 500, 'INTERNAL', []]
]

describe('a service whose handler needs another service', () => {
  for (const [path, status, code, again] of CASES)
    for (const method of ['GET', 'POST', 'PUT'])
      it(`answers ${method} ${path} with ${status} ${code}`, async () => {
        const response = await app.handle(new Request(`http://localhost${path}`, { method }))
        const text = await response.text()
        assert.equal(response.status, status, text)
        assert.equal((JSON.parse(text) as { code: string }).code, code)
        assert.equal(response.headers.get('retry-after'), again.includes(method) ? '1' : null)
        assert.doesNotMatch(text, /127|10\.0|left|sendBuffer|password/)
      })
})

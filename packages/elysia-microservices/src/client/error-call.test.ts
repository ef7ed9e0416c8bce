/** The errors that a caller gets name the call that failed, and the server. */
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { DEAF_PORT } from '@elysia-microservices/test-support'
import { t } from 'elysia'
import { type Message, microservice, RpcError, ValidationError } from '../index.ts'
import { tcp } from '../tcp.ts'
import { Cleanups, newWay, WAYS } from '../testing/ways.ts'
import { connect } from './index.ts'

const cleanups = new Cleanups()
afterEach(() => cleanups.run())

const silent = { error() {}, warn() {} }

const failure = (call: Promise<unknown>): Promise<RpcError> =>
  call.then(
    () => assert.fail('it was answered'),
    (error) => error
  )

for (const way of WAYS)
  describe(`an error of a call, ${way}`, () => {
    async function ends() {
      const { transport, client } = newWay(way)
      const service = microservice({ transport, logger: silent })
        .message({ cmd: 'fail' }, () => {
          throw new RpcError({ code: 'FULL', message: 'It is full' })
        })
        .message('never', () => new Promise(() => {}))
        .message('count', async function* () {
          yield 1
          throw new RpcError({ code: 'GONE' })
        })
      cleanups.add(service)
      await service.listen()
      const { address } = service
      return {
        client: cleanups.add(connect(client({ retry: false }))),
        endpoint: address === undefined ? undefined : `127.0.0.1:${address.port}`
      }
    }

    it('has the pattern as text, and the endpoint', async () => {
      const { client, endpoint } = await ends()
      const { code, pattern, endpoint: of } = await failure(client.request({ cmd: 'fail' }))
      assert.deepEqual([code, pattern, of], ['FULL', '{"cmd":"fail"}', endpoint])
    })

    it('has the lines that wait for it as its stack, where the engine knows them', async () => {
      const { client } = await ends()
      async function placeOrder() {
        return await client.request({ cmd: 'fail' })
      }
      async function waitTooLong() {
        return await client.request('never', undefined, { timeout: 1 })
      }
      const answer = await failure(placeOrder())
      // On Bun the stack would name the caller only if request() were an async function.
      const knows = typeof Bun === 'undefined'
      assert.match(
        answer.stack!,
        knows ? /^RpcError: It is full\n +at async placeOrder / : /^RpcError: It is full\n/
      )
      const local = await failure(waitTooLong())
      assert.match(local.stack!, knows ? /^TimeoutError: .*\n +at async waitTooLong / : /^TimeoutError: /)
    })

    it('has them if nobody handles it, and if no answer comes in time', async () => {
      const { client, endpoint } = await ends()
      const unknown = await failure(client.request('unknown'))
      assert.deepEqual(
        [unknown.code, unknown.pattern, unknown.endpoint],
        ['PATTERN_NOT_FOUND', 'unknown', endpoint]
      )
      const late = await failure(client.request('never', undefined, { timeout: 20 }))
      assert.deepEqual([late.code, late.pattern, late.endpoint], ['TIMEOUT', 'never', endpoint])
    })

    it('has them in the middle of a stream', async () => {
      const { client, endpoint } = await ends()
      const values = client.stream('count')
      assert.equal((await values.next()).value, 1)
      const { code, pattern, endpoint: of } = await failure(values.next())
      assert.deepEqual([code, pattern, of], ['GONE', 'count', endpoint])
    })

    it('has the pattern if nothing was sent', async () => {
      const { client } = await ends()
      const { code, pattern } = await failure(client.request('count', undefined, { timeout: -1 }))
      assert.deepEqual([code, pattern], ['OPTION', 'count'])
      const within = { remaining: 0 }
      const late = await failure(client.request('count', undefined, { within }))
      assert.deepEqual([late.code, late.pattern], ['TIMEOUT', 'count'])
    })

    it('sends none of it on: what a handler throws has neither', async () => {
      const { client } = await ends()
      const own = new RpcError({ code: 'OWN' })
      assert.equal('pattern' in own || 'endpoint' in own, false)
      const { received } = await failure(client.request({ cmd: 'fail' }))
      assert.equal('pattern' in Object(received), false)
    })
  })

for (const protocol of ['rsocket', 'nest'] as const)
  describe(`an error of a call that reaches nobody, ${protocol}`, () => {
    it('has its own pattern, and the endpoint that could not be reached', async () => {
      const port = DEAF_PORT
      const client = cleanups.add(
        connect({ host: '127.0.0.1', port, protocol, retry: false, logger: silent })
      )
      const failures = await Promise.all(['a', 'b'].map((pattern) => failure(client.request(pattern))))
      assert.deepEqual(
        failures.map(({ code, pattern, endpoint }) => [code, pattern, endpoint]),
        ['a', 'b'].map((pattern) => ['CONNECTION', pattern, `127.0.0.1:${port}`])
      )
    })

    it('has its own of several endpoints', async () => {
      const port = DEAF_PORT
      const endpoints = [`127.0.0.1:${port}`, `127.0.0.1:${DEAF_PORT + 1}`]
      const client = cleanups.add(connect({ url: endpoints, protocol, retry: false, logger: silent }))
      const failures = await Promise.all(['a', 'b'].map((pattern) => failure(client.request(pattern))))
      for (const [index, { code, pattern, endpoint }] of failures.entries()) {
        assert.deepEqual([code, pattern], ['CONNECTION', 'ab'[index]])
        assert.ok(endpoints.includes(endpoint ?? ''), endpoint)
      }
    })
  })

describe('an error of a call whose credentials are refused', () => {
  it('has its own pattern', async () => {
    const service = cleanups.add(
      microservice({
        transport: tcp({ host: '127.0.0.1', port: 0, authenticate: () => false }),
        logger: silent
      })
    )
    await service.listen()
    const { port } = service.address!
    const client = cleanups.add(connect({ host: '127.0.0.1', port, logger: silent }))
    const failures = await Promise.all(['a', 'b'].map((pattern) => failure(client.request(pattern))))
    assert.deepEqual(
      failures.map(({ pattern, endpoint }) => [pattern, endpoint]),
      ['a', 'b'].map((pattern) => [pattern, `127.0.0.1:${port}`])
    )
  })
})

describe('an error of a channel whose values fail', () => {
  it('is the very error of the values, untouched', async () => {
    const { transport, client } = newWay('rsocket')
    const service = cleanups.add(
      microservice({ transport, logger: silent }).message(
        'sum',
        async ({ data }: Message<AsyncIterable<number>>) => {
          let sum = 0
          for await (const n of data) sum += n
          return sum
        }
      )
    )
    await service.listen()
    const own = Object.freeze(new Error('no more'))
    async function* values() {
      yield 1
      throw own
    }
    const caller = cleanups.add(connect({ ...client(), logger: silent }))
    assert.equal(await failure(caller.request('sum', values())), own)
  })
})

for (const way of WAYS)
  describe(`a caller whose data fails a schema, ${way}`, () => {
    it('learns of everything that is wrong', async () => {
      const { transport, client } = newWay(way)
      const service = cleanups.add(
        microservice({ transport, logger: silent }).message('user', () => 1, {
          data: t.Object({ name: t.String(), age: t.Number() })
        })
      )
      await service.listen()
      const caller = cleanups.add(connect(client()))
      const error = await failure(caller.request('user', { name: 5, age: 'x' }))
      assert.ok(error instanceof ValidationError)
      assert.deepEqual(error.issues, [
        { path: 'data.name', expected: 'string', received: '5' },
        { path: 'data.age', expected: 'number', received: "'x'" }
      ])
      assert.deepEqual(error.details, { ...error.issues[0], issues: error.issues })
      const single = await failure(caller.request('user', { name: 'x', age: 'x' }))
      assert.ok(single instanceof ValidationError)
      assert.deepEqual(single.issues, [single.details])
    })
  })

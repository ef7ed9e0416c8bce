/** Services as their callers see them, over sockets and both protocols. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { t } from 'elysia'
import { from } from 'rxjs'
import { z } from 'zod'
import { memory, ResponseValidationError, RpcError } from '../index.ts'
import { asking, happening, listening, logged, newService } from '../testing/service.ts'
import { microservice } from './microservice.ts'

/** All values of a stream. */
async function valuesOf(stream: AsyncIterable<unknown>): Promise<unknown[]> {
  const values: unknown[] = []
  for await (const value of stream) values.push(value)
  return values
}

class OutOfStock extends Error {
  readonly details: { left: number }
  constructor(left: number) {
    super('there are not that many left')
    this.details = { left }
  }
}

for (const protocol of ['rsocket', 'nest'] as const) {
  describe(`a service over ${protocol}`, () => {
    const events: string[] = []
    const service = newService()
      .error('OUT_OF_STOCK', OutOfStock)
      .message('sum', ({ data }) => data.reduce((a, b) => a + b, 0), { data: t.Array(t.Number()) })
      .message('zod', ({ data }) => data, { data: z.object({ name: z.string().min(2) }) })
      .message('slow schema', ({ data }) => data, { data: z.string().refine(async (text) => text !== 'no') })
      .message('tenant', ({ headers }) => headers, { headers: t.Object({ tenant: t.String() }) })
      .message('broken', () => JSON.parse('{ "secret": "of others" }') as { id: number }, {
        response: t.Object({ id: t.Number() })
      })
      .message(
        'broken stream',
        async function* () {
          yield 1
          yield 'two' as unknown as number
        },
        { response: t.Number() }
      )
      .message('cleaned stream', () => from([{ id: 1, secret: 2 }]), {
        response: t.Object({ id: t.Number() })
      })
      .message('orders.*', ({ pattern, params }) => [pattern, params])
      .message(/^invoice-(?<id>\d+)$/, ({ params }) => params.groups)
      .message('buy', () => {
        throw new OutOfStock(2)
      })
      .message('>', ({ pattern }) => `nobody knows ${pattern}`)
      .event('placed.*', ({ params: [id] }) => void events.push(`any ${id}`))
      .event('placed.7', () => void events.push('seven'))
      .event(/^placed/, () => void events.push('regexp'))
      .event('checked', ({ data }) => void events.push(data), { data: t.String() })
      .message('events', () => events)
    const client = listening(service, protocol)

    it('checks data before the handler sees it', async () => {
      assert.equal(await client().request('sum', [1, 2]), 3)
      await assert.rejects(client().request('sum', [1, 'x']), {
        code: 'VALIDATION',
        message: "data[1]: expected number, received 'x'",
        details: { path: 'data[1]', expected: 'number', received: "'x'" }
      })
      await assert.rejects(client().request('zod', { name: 'x' }), {
        code: 'VALIDATION',
        message: /^data\.name: /
      })
      assert.equal(await client().request('slow schema', 'yes'), 'yes')
      await assert.rejects(client().request('slow schema', 'no'), { code: 'VALIDATION' })
    })

    it('checks headers', async () => {
      assert.deepEqual(await client().request('tenant', 1, { headers: { tenant: 'a' } }), { tenant: 'a' })
      await assert.rejects(client().request('tenant'), { code: 'VALIDATION', message: /^headers\.tenant/ })
    })

    it('tells nobody what a broken response is, and logs it whole', async () => {
      logged.length = 0
      await assert.rejects(client().request('broken'), (error) => {
        assert.ok(error instanceof RpcError)
        assert.equal(error.code, 'INTERNAL')
        assert.equal(error.message, 'Internal server error')
        assert.equal(error.details, undefined)
        return true
      })
      assert.ok(logged[0] instanceof ResponseValidationError)
      assert.equal(logged[0].path, 'response.id')
    })

    it('checks each value of a stream', async () => {
      const seen: unknown[] = []
      await assert.rejects(
        async () => {
          for await (const value of client().stream('broken stream')) seen.push(value)
        },
        { code: 'INTERNAL' }
      )
      assert.deepEqual(seen, [1])
      assert.deepEqual(await valuesOf(client().stream('cleaned stream')), [{ id: 1 }])
    })

    it('answers by wildcard, RegExp and catch-all', async () => {
      assert.deepEqual(await client().request('orders.7'), ['orders.7', ['7']])
      assert.deepEqual(await client().request('invoice-12'), { id: '12' })
      assert.equal(await client().request('orders.7.items'), 'nobody knows orders.7.items')
      assert.equal(await client().request({ cmd: 'x' }), 'nobody knows {"cmd":"x"}')
    })

    it('tells the caller of registered errors', async () => {
      await assert.rejects(client().request('buy'), {
        name: 'RpcError',
        code: 'OUT_OF_STOCK',
        message: 'there are not that many left',
        details: { left: 2 }
      })
    })

    it('runs every handler whose pattern matches an event, and none whose data is wrong', async () => {
      await client().emit('placed.7')
      await client().emit('checked', 5)
      await client().emit('checked', 'right')
      assert.deepEqual(await client().request('events'), ['any 7', 'seven', 'regexp', 'right'])
    })

    it('logs each handler of an event that fails, and an event that nobody handles', async () => {
      const lines: unknown[][] = []
      const done = happening()
      const logger = {
        error(...all: unknown[]) {
          lines.push(all)
          if (lines.length === 4) done.happen()
        },
        warn() {}
      }
      const failure = new Error('no')
      const failing = microservice({ transport: 'tcp', host: '127.0.0.1', port: 0, logger })
        .event('fails', () => {
          throw failure
        })
        .event('fails', () => Promise.reject(failure))
        .event('fails', async function* () {
          yield 1
          throw failure
        })
        .event('fails', () => void lines.length)
      await asking(
        failing,
        async (client) => {
          await client.emit('fails')
          await client.emit('nobody')
          await done.happened
        },
        protocol
      )
      const reported = ["A handler of the event 'fails' failed", failure]
      const unknown = [
        'There is no matching event handler defined in the remote service. Event pattern: nobody'
      ]
      assert.deepEqual(
        lines.filter(([, error]) => error !== undefined),
        [reported, reported, reported]
      )
      assert.deepEqual(
        lines.filter(([, error]) => error === undefined),
        [unknown]
      )
    })
  })
}

describe('a definition that is wrong is refused at once', () => {
  /** Calls a method without type checks, as JavaScript code may do. */
  const call = (service: object, method: string, ...args: unknown[]) =>
    (Reflect.get(service, method) as (...args: unknown[]) => unknown)(...args)
  const cases: Record<string, [(service: object) => unknown, string]> = {
    'a handler that is no function': [(s) => call(s, 'message', 'x', 5), 'handler'],
    'an option that is none': [(s) => call(s, 'message', 'x', () => 1, { dta: t.Number() }), 'options.dta'],
    'a schema that is none': [(s) => call(s, 'message', 'x', () => 1, { data: {} }), 'options.data'],
    'a hook that is no function': [(s) => call(s, 'onError', 'x'), 'error'],
    'a scope that is none': [(s) => call(s, 'derive', { as: 'everywhere' }, () => ({})), 'options.as'],
    'a scope that narrows': [(s) => call(s, 'as', 'local'), 'The argument of as()'],
    'a decorator of a name that is taken': [(s) => call(s, 'decorate', 'data', 1), 'data'],
    'a prefix with wildcards': [(s) => call(s, 'group', 'a.*', () => s), 'prefix'],
    'no prefix': [(s) => call(s, 'group', '', () => s), 'prefix'],
    'an object in a group': [
      (s) => call(s, 'group', 'a', (g: object) => call(g, 'message', { cmd: 'x' }, () => 1)),
      'pattern'
    ],
    'a plugin that is none': [(s) => call(s, 'use', {}), 'The argument of use()']
  }
  for (const [name, [define, path]] of Object.entries(cases)) {
    it(name, () => {
      assert.throws(() => define(newService()), { name: 'OptionError', path })
    })
  }
})

describe('a service', () => {
  it('has the name of its options, or none', () => {
    assert.equal(microservice({ transport: memory(), name: 'orders' }).name, 'orders')
    assert.equal(microservice({ transport: memory() }).name, undefined)
  })

  it('refuses a port that is given to listen(), and says where it belongs', async () => {
    const service = microservice({ transport: memory() })
    await assert.rejects((service.listen as (port: number) => Promise<unknown>)(4000), {
      name: 'OptionError',
      message:
        "The argument of listen() must be left out: a port is an option of the transport, as in microservice({ transport: 'tcp', port: 4000 }), but is 4000"
    })
    assert.equal(service.status, 'stopped')
  })
})

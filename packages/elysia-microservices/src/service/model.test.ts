/** `model()`: schemas with names. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { t } from 'elysia'
import { expectTypeOf } from 'expect-type'
import { z } from 'zod'
import { connect } from '../client/index.ts'
import { type Microservice, memory, microservice } from '../index.ts'

const order = t.Object({ id: t.Number() })
const newService = () =>
  microservice({ transport: memory() }).model({ order, tenant: z.object({ tenant: z.string() }) })

async function outcomes(
  service: Microservice,
  transport: ReturnType<typeof memory>,
  calls: [string, unknown][]
) {
  const outer = microservice({ transport, logger: { warn() {}, error() {} } }).use(service)
  await outer.listen()
  const client = connect({ transport })
  const results: unknown[] = []
  for (const [pattern, data] of calls)
    results.push(await client.request(pattern, data).catch((error: Error) => error.name))
  await client.close()
  await outer.stop()
  return results
}

describe('a schema with a name', () => {
  it('checks what the schema itself would check: of a handler, a guard, a group and a service that uses the model', async () => {
    const named = newService().message('own', ({ data }) => data.id, { data: 'order' })
    const all = microservice({ transport: memory() })
      .use(named)
      .message('answer', () => ({ id: 'a' as never }), { response: 'order' })
      .group('group', (group) => group.message('x', ({ data }) => data.id, { data: 'order' }))
      .guard({ data: 'order' })
      .message('guarded', ({ data }) => data.id)
    const patterns = ['own', 'group.x', 'guarded']
    const results = await outcomes(all as never, memory(), [
      ...patterns.map((pattern): [string, unknown] => [pattern, { id: 7 }]),
      ...patterns.map((pattern): [string, unknown] => [pattern, { id: 'a' }]),
      ['answer', undefined]
    ])
    const refused = patterns.map(() => 'ValidationError')
    assert.deepEqual(results, [7, 7, 7, ...refused, 'RpcError'])
  })

  it('gives handlers and callers its types', () => {
    const service = newService()
      .message('pay', ({ data, headers }) => ({ id: data.id, of: headers.tenant }), {
        data: 'order',
        headers: 'tenant'
      })
      .event('paid', ({ data }) => void expectTypeOf(data).toEqualTypeOf<{ id: number }>(), { data: 'order' })
      .message('find', () => ({ id: 1 }), { response: 'order' })
    const calls = (client = connect<typeof service>({})) => {
      const options = { headers: { tenant: 'acme' } }
      expectTypeOf(client.request('pay', { id: 1 }, options)).resolves.toEqualTypeOf<{
        id: number
        of: string
      }>()
      expectTypeOf(client.request('find')).resolves.toEqualTypeOf<{ id: number }>()
      // @ts-expect-error the headers are needed
      void client.request('pay', { id: 1 })
      // @ts-expect-error the id is a number
      void client.emit('paid', { id: 'a' })
    }
    assert.equal(typeof calls, 'function')
  })

  it('that nobody has is refused with the names that there are, also by the compiler', () => {
    // @ts-expect-error there is no such name
    assert.throws(() => newService().message('x', () => 1, { data: 'ordr' }), {
      name: 'OptionError',
      path: 'options.data',
      message:
        "options.data must be a schema, or one of the names 'order', 'tenant' that model() has given, but is 'ordr'"
    })
    assert.throws(() => microservice({ transport: memory() }).guard({ headers: 'order' as never }), {
      path: 'options.headers'
    })
  })

  it('is a schema', () => {
    assert.throws(() => newService().model({ wrong: {} as never }), {
      name: 'OptionError',
      path: 'model.wrong'
    })
    assert.throws(() => newService().model('wrong', 5 as never), { name: 'OptionError', path: 'model.wrong' })
  })

  it('is described as the schema', () => {
    const [handler] = newService()
      .message('own', ({ data }) => data.id, { data: 'order' })
      .describe().handlers
    assert.deepEqual(handler?.data?.['required'], ['id'])
  })
})

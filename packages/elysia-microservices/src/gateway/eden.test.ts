/** Eden's `treaty` has the types of a gateway's routes, and can call them. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { treaty } from '@elysiajs/eden'
import { Elysia, t } from 'elysia'
import { expectTypeOf } from 'expect-type'
import type { connect } from '../client/index.ts'
import { isError, type Message, microservice, RpcError } from '../index.ts'
import { behindGateway } from '../testing/behind-gateway.ts'
import { type DeclaredBody, type ErrorBody, gateway, type StreamEvent } from './index.ts'

const service = microservice({ transport: 'tcp', host: '127.0.0.1', port: 0 })
  .message('users.get', ({ data }: Message<{ id: string }>) => {
    if (data.id === '0') throw new RpcError({ code: 'NOT_FOUND', message: 'There is no user 0' })
    return { id: data.id, name: 'Ada' }
  })
  .message('orders.create', ({ data }: Message<{ id: number; items: string[] }>) => data)
  .message('orders.list', ({ data }: Message<{ page?: number }>) => [data.page ?? 1])
  .message('ticks', async function* () {
    yield { n: 1 }
    yield { n: 2 }
  })
  .message(
    'stock.take',
    ({ data, fail }) => {
      if (data.id === 'none') throw fail('NOT_FOUND')
      if (data.id === 'many') throw fail('OUT_OF_STOCK', { left: 3 }, 'Not so much is left')
      return { left: 1 }
    },
    {
      data: t.Object({ id: t.String() }),
      errors: {
        OUT_OF_STOCK: { details: t.Object({ left: t.Number() }), status: 410 },
        NOT_FOUND: {}
      }
    }
  )
  .message(
    'stock.watch',
    async function* ({ fail }) {
      yield 1
      throw fail('OUT_OF_STOCK', { left: 0 })
    },
    { errors: { OUT_OF_STOCK: t.Object({ left: t.Number() }) } }
  )
  .message('dates.get', () => ({ at: new Date(0), left: new Map([[1, 2]]).size }))
  .message('dates.watch', async function* () {
    yield new Date(0)
  })
  .event('placed', (_message: Message<{ id: string }>) => {})

const routes = (client: ReturnType<typeof connect<typeof service>>) =>
  gateway(client, {
    'GET /users/:id': 'users.get',
    'GET /orders': { pattern: 'orders.list', query: t.Object({ page: t.Optional(t.Number()) }) },
    'POST /users/:id/orders': {
      pattern: 'orders.create',
      status: 201,
      params: t.Object({ id: t.Number() }),
      body: t.Object({ items: t.Array(t.String()) })
    },
    'GET /ticks': { stream: 'ticks' },
    'POST /stock/:id': 'stock.take',
    'GET /stock': { stream: 'stock.watch' },
    'GET /dates': 'dates.get',
    'GET /dates/all': { stream: 'dates.watch' },
    'POST /orders/:id/placed': { emit: 'placed' }
  })

const http = behindGateway(service, (client) => routes(client as never))
const app = (client: ReturnType<typeof connect<typeof service>>) =>
  new Elysia().use(routes(client)).get('/own', () => 5)

describe('a gateway for Eden', () => {
  const api = () => treaty<ReturnType<typeof app>>(http.url)

  it('gives the type of the pattern, and the value of the service', async () => {
    const { data, error } = await api().users({ id: '1' }).get()
    expectTypeOf(data).toEqualTypeOf<{ id: string; name: string } | null>()
    assert.deepEqual([data, error], [{ id: '1', name: 'Ada' }, null])
  })

  it('gives dates as Eden reads them', async () => {
    const { data } = await api().dates.get()
    expectTypeOf(data).toEqualTypeOf<{ at: Date; left: number } | null>()
    assert.deepEqual(data, { at: new Date(0), left: 1 })
    const stream = await api().dates.all.get()
    for await (const event of stream.data ?? []) {
      if (event.event !== undefined) continue
      expectTypeOf(event.data).toEqualTypeOf<Date>()
      assert.deepEqual(event.data, new Date(0))
    }
  })

  it('gives errors with their body', async () => {
    const { data, error } = await api().users({ id: '0' }).get()
    expectTypeOf(error?.value).toEqualTypeOf<ErrorBody | undefined>()
    assert.equal(data, null)
    assert.deepEqual([error?.status, error?.value.code], [404, 'NOT_FOUND'])
  })

  it('knows the errors of the contract, with their details', async () => {
    const { error } = await api().stock({ id: 'many' }).post()
    assert.deepEqual([error?.status, error?.value.message], [410, 'Not so much is left'])
    if (error?.status === 410) {
      const body = error.value
      expectTypeOf(body).toEqualTypeOf<ErrorBody | DeclaredBody<'OUT_OF_STOCK', { left: number }>>()
    }
    const body = error?.value
    assert.ok(isError(body, 'OUT_OF_STOCK'))
    expectTypeOf(body.details).toEqualTypeOf<{ left: number }>()
    assert.equal(body.details.left, 3)
    const none = await api().stock({ id: 'none' }).post()
    assert.equal(none.error?.status, 404)
    assert.ok(isError(none.error.value, 'NOT_FOUND'))

    const { data } = await api().stock.get()
    const ends: unknown[] = []
    for await (const event of data ?? assert.fail('no stream'))
      if (event.event === 'error' && isError(event.data, 'OUT_OF_STOCK')) {
        expectTypeOf(event.data.details).toEqualTypeOf<{ left: number }>()
        ends.push(event.data.details.left)
      }
    assert.deepEqual(ends, [0])
  })

  it('takes bodies, parameters and queries by their schemas', async () => {
    const { data } = await api()
      .users({ id: 5 })
      .orders.post({ items: ['tea'] })
    expectTypeOf(data).toEqualTypeOf<{ id: number; items: string[] } | null>()
    assert.deepEqual(data, { id: 5, items: ['tea'] })
    const list = await api().orders.get({ query: { page: 3 } })
    expectTypeOf(list.data).toEqualTypeOf<number[] | null>()
    assert.deepEqual(list.data, [3])
    const later = () => {
      const wrong = [1]
      const { orders } = api().users({ id: 5 })
      // @ts-expect-error the items are texts
      void orders.post({ items: wrong })
      // @ts-expect-error there is no such route
      void api().nothing.get()
      // @ts-expect-error there is no such method
      void api().ticks.post()
    }
    expectTypeOf(later).toBeFunction()
  })

  it('gives streams as their events', async () => {
    const { data } = await api().ticks.get()
    expectTypeOf(data).toEqualTypeOf<AsyncGenerator<StreamEvent<{ n: number }>, void, unknown> | null>()
    const events: unknown[] = []
    for await (const { event, ...rest } of data ?? assert.fail('no stream'))
      events.push(event === 'end' ? event : (rest as { data?: unknown }).data)
    assert.deepEqual(events, [{ n: 1 }, { n: 2 }, 'end'])
  })

  it('sends events', async () => {
    const { status } = await api().orders({ id: 'a' }).placed.post()
    assert.equal(status, 202)
  })

  it('leaves the routes of the app as they are', () => {
    const own = () => api().own.get()
    expectTypeOf<Awaited<ReturnType<typeof own>>['data']>().toEqualTypeOf<number | null>()
  })
})

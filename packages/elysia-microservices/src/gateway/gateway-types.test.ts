/** The types of gateways. The assertions are about types: a wrong type does not compile. */
import { describe, it } from 'node:test'
import { Elysia, t } from 'elysia'
import { expectTypeOf } from 'expect-type'
import { z } from 'zod'
import { connect, type UntypedClient } from '../client/index.ts'
import { type Message, microservice } from '../index.ts'
import { clients, gateway } from './index.ts'

const service = microservice({ transport: 'tcp' })
  .message('users.get', ({ data }: Message<{ id: string }>) => data)
  .message('users.find', ({ data }: Message<{ page?: number; name?: string }>) => [data])
  .message('orders.create', ({ data }: Message<{ id: number; items: string[] }>) => data.id)
  .message('sum', ({ data }: Message<number[]>) => data.length)
  .message('time', () => 'now')
  .message('nothing', ({ data }: Message<undefined>) => data)
  .message({ cmd: 'object' }, ({ data }: Message<{ id: string }>) => data.id)
  .message(7, ({ data }: Message<{ id: string }>) => data.id)
  .message('files.*', ({ data }: Message<{ name: string }>) => data.name)
  .message('ticks', async function* ({ data }: Message<{ every?: string }>) {
    yield data
  })
  .event('order.placed', ({ data }: Message<{ id: string }>) => data)

const client = () => connect<typeof service>({ transport: 'tcp' })
type Typed = ReturnType<typeof client>

/** Only compiled, never run. */
function patterns(c: Typed) {
  gateway(c, {
    'GET /users/:id': 'users.get',
    'GET /time': 'time',
    'GET /nothing': 'nothing',
    'GET /seven/:id': 7,
    'GET /files/:name': 'files.a',
    'POST /sum': 'sum',
    'POST /time': { pattern: 'time', status: 201 },
    'GET /objects/:id': { pattern: { cmd: 'object' } },
    'GET /ticks': { stream: 'ticks', heartbeat: 1000 },
    'POST /placed': { emit: 'order.placed' }
  })
  gateway(
    c,
    {
      'PUT /time': { pattern: 'time', idempotent: true, key: 'a' },
      'GET /users/:id': {
        pattern: 'users.get',
        key: ({ params }) => {
          expectTypeOf(params).toEqualTypeOf<{ readonly id: string }>()
          return params.id
        },
        within: ({ request }) => ({ remaining: 100, signal: request.signal })
      },
      'GET /ticks': { stream: 'ticks', idempotent: false },
      'POST /placed': { emit: 'order.placed', key: ({ headers }) => headers['x-user'] }
    },
    { idempotent: false, key: ({ headers }) => headers['x-user'] }
  )
  // @ts-expect-error the data has an id, and no idd
  gateway(c, { 'GET /users/:idd': 'users.get' })
  // @ts-expect-error the data has an id, and no idd
  gateway(c, { 'POST /users/:idd': { pattern: 'users.get' } })
  // @ts-expect-error the data has an id, and no idd
  gateway(c, { 'GET /users/:idd': { pattern: 'users.get', params: t.Object({ idd: t.String() }) } })
  // A parameter of the path that the default data would not contain is no mistake if `data` is a function.
  gateway(c, {
    'GET /:tenant/users': { pattern: 'users.get', data: ({ params }) => ({ id: params.tenant }) },
    'GET /:tenant/users/:id': 'users.get',
    'GET /:tenant/found': 'users.find',
    'PUT /users/:idd': { pattern: 'users.get', query: t.Object({ id: t.String() }) }
  })
  // @ts-expect-error nobody answers an event
  gateway(c, { 'POST /placed': { emit: 'order.placed', idempotent: true } })
  // @ts-expect-error there is no such pattern
  gateway(c, { 'GET /a': 'unknown' })
  // @ts-expect-error there is no such pattern
  gateway(c, { 'GET /a': { pattern: 'unknown' } })
  // @ts-expect-error there is no such object
  gateway(c, { 'GET /a/:id': { pattern: { cmd: 'other' } } })
  // @ts-expect-error a stream is not one value
  gateway(c, { 'GET /a': 'ticks' })
  // @ts-expect-error a stream is not one value
  gateway(c, { 'GET /a': { pattern: 'ticks' } })
  // @ts-expect-error one value is not a stream
  gateway(c, { 'GET /a': { stream: 'time' } })
  // @ts-expect-error a message is no event
  gateway(c, { 'POST /a': { emit: 'time' } })
  // @ts-expect-error an event is no message
  gateway(c, { 'POST /a': { pattern: 'order.placed' } })
  // @ts-expect-error no method
  gateway(c, { '/time': 'time' })
  // @ts-expect-error no such method
  gateway(c, { 'FETCH /time': 'time' })
  // @ts-expect-error no such option
  gateway(c, { 'GET /time': { pattern: 'time', stauts: 201 } })
}

function data(c: Typed) {
  gateway(c, {
    'GET /users/:id/:more': {
      pattern: 'users.get',
      data: ({ params, query, body, headers, request, ...rest }) => {
        expectTypeOf(params).toEqualTypeOf<{ readonly id: string; readonly more: string }>()
        expectTypeOf(query).toEqualTypeOf<Readonly<Record<string, string | undefined>>>()
        expectTypeOf(body).toBeUnknown()
        expectTypeOf(headers).toEqualTypeOf<Readonly<Record<string, string | undefined>>>()
        expectTypeOf(request).toEqualTypeOf<Request>()
        expectTypeOf(rest['user']).toBeUnknown()
        return { id: params.id }
      }
    },
    'POST /sum/:n': {
      pattern: 'sum',
      params: t.Object({ n: t.Number() }),
      query: t.Object({ m: t.Optional(t.Number()) }),
      body: z.object({ list: z.string().transform((text) => text.split(',').map(Number)) }),
      data: ({ params, query, body }) => {
        expectTypeOf(params).toEqualTypeOf<{ n: number }>()
        expectTypeOf(query).toEqualTypeOf<{ m?: number }>()
        expectTypeOf(body).toEqualTypeOf<{ list: number[] }>()
        return body.list
      }
    },
    'POST /async': { pattern: 'sum', data: async ({ request }) => [Number(await request.text())] },
    'GET /ticks': {
      stream: 'ticks',
      query: t.Object({ n: t.Number() }),
      data: ({ query }) => ({ every: String(query.n) })
    },
    'POST /placed': { emit: 'order.placed', data: () => ({ id: 'a' }) }
  })
  // @ts-expect-error the pattern takes a list of numbers
  gateway(c, { 'POST /sum': { pattern: 'sum', data: () => 'text' } })
  // @ts-expect-error the event takes a text
  gateway(c, { 'POST /placed': { emit: 'order.placed', data: () => ({ id: 1 }) } })
  gateway(c, {
    // @ts-expect-error the body has no such field
    'POST /sum': { pattern: 'sum', body: t.Object({ a: t.Number() }), data: ({ body }) => [body.b] }
  })
}

function defaults(c: Typed) {
  gateway(c, {
    'GET /users': {
      pattern: 'users.find',
      query: t.Object({ page: t.Optional(t.Number()), name: t.Optional(t.String()) })
    },
    'POST /users/:name': 'users.find',
    'POST /orders/:id': { pattern: 'orders.create', params: t.Object({ id: t.Number() }) },
    'POST /orders': {
      pattern: 'orders.create',
      body: t.Object({ id: t.Number(), items: t.Array(t.String()) })
    },
    'POST /sum': { pattern: 'sum', body: t.Array(t.Number()) }
  })
  // @ts-expect-error a parameter of a path is a text
  gateway(c, { 'POST /orders/:id': 'orders.create' })
  // @ts-expect-error what comes in a query is a text, and the page is a number
  gateway(c, { 'GET /users': 'users.find' })
  // @ts-expect-error the id is missing
  gateway(c, { 'GET /users': { pattern: 'users.get', query: t.Object({}) } })
  // @ts-expect-error the items are missing
  gateway(c, { 'POST /orders': { pattern: 'orders.create', body: t.Object({ id: t.Number() }) } })
  gateway(c, {
    'POST /orders': {
      // @ts-expect-error the id is a number
      pattern: 'orders.create',
      body: t.Object({ id: t.String(), items: t.Array(t.String()) })
    }
  })
  // @ts-expect-error a path with parameters makes an object, and the pattern takes a list
  gateway(c, { 'POST /sum/:id': 'sum' })
  // @ts-expect-error a query makes an object, and the pattern takes a list
  gateway(c, { 'GET /sum': 'sum' })
  // @ts-expect-error the list is of numbers
  gateway(c, { 'POST /sum': { pattern: 'sum', body: t.Array(t.String()) } })
}

const secured = () => connect<typeof behindTenants>({ transport: 'tcp' })
const behindTenants = microservice({ transport: 'tcp' })
  .guard({ headers: t.Object({ authorization: t.String(), locale: t.Optional(t.String()) }) })
  .message('whose', ({ headers }) => headers.authorization)
  .event('marked', ({ headers }) => headers.authorization)
  .message('traced', () => 1, { headers: t.Object({ traceparent: t.String() }) })

function headers(names: readonly string[]) {
  gateway(secured, {
    'GET /whose': { pattern: 'whose', headers: ['Authorization', 'locale'] },
    'GET /made': { pattern: 'whose', headers: () => ({ authorization: 'a' }) },
    'GET /moved': { pattern: 'whose', headers: ({ headers }) => ({ authorization: headers['token'] ?? '' }) },
    'GET /many': { pattern: 'whose', headers: names },
    'GET /traced': 'traced',
    'POST /marked': { emit: 'marked', data: () => 1, headers: ['authorization'] }
  })
  gateway(
    secured,
    { 'GET /whose': 'whose', 'POST /marked': { emit: 'marked' } },
    { headers: ['authorization'] }
  )
  gateway(secured, { 'GET /whose': 'whose' }, { headers: ({ request }) => ({ authorization: request.url }) })
  // @ts-expect-error nobody passes the header on
  gateway(secured, { 'GET /whose': 'whose' })
  // @ts-expect-error the gateway passes on another
  gateway(secured, { 'GET /whose': 'whose' }, { headers: ['locale'] })
  const headers = ['authorization'] as const
  // @ts-expect-error the route's own list counts
  gateway(secured, { 'GET /whose': { pattern: 'whose', headers: ['locale'] } }, { headers })
  // @ts-expect-error nobody passes the header of the event on
  gateway(secured, { 'POST /marked': { emit: 'marked' } })
  gateway(secured, {
    // @ts-expect-error the header may be missing
    'GET /moved': { pattern: 'whose', headers: ({ headers }) => ({ authorization: headers['token'] }) }
  })
}

function documented(c: Typed) {
  const detail = { tags: ['users'], security: [{ token: [] as string[] }] }
  gateway(c, {
    'GET /users/:id': { pattern: 'users.get', detail: { tags: ['users'], summary: 'One user' } },
    'GET /time': { pattern: 'time', detail },
    'GET /objects/:id': {
      pattern: { cmd: 'object' },
      detail: { hide: true, parameters: [{ name: 'a', in: 'query' }] }
    }
  })
}

function untyped(c: UntypedClient) {
  gateway(c, {
    'GET /users/:id': 'anything',
    'GET /objects': { pattern: { cmd: 'deep', of: { x: 1 } }, data: ({ query }) => query['page'] },
    'GET /ticks': { stream: 'ticks' },
    'POST /placed': { emit: 'order.placed', body: t.Object({ id: t.Number() }), data: ({ body }) => body.id }
  })
  // @ts-expect-error no method
  gateway(c, { '/time': 'time' })
}

function owned() {
  gateway(client, { 'GET /users/:id': 'users.get' })
  gateway(() => connect({}), { 'GET /users/:id': 'users.get' })
  // @ts-expect-error there is no such pattern
  gateway(client, { 'GET /users/:id': 'unknown' })
}

function decorators(c: Typed) {
  new Elysia()
    .use(gateway(c, { 'GET /users/:id': 'users.get' }))
    .use(clients({ users: c, orders: client, raw: () => connect({}) }))
    .get('/x', ({ users, orders, raw }) => {
      expectTypeOf(users).toEqualTypeOf<Typed>()
      expectTypeOf(orders).toEqualTypeOf<Typed>()
      expectTypeOf(raw).toEqualTypeOf<UntypedClient>()
      // @ts-expect-error there is no such pattern
      void users.request('unknown')
      return users.request('users.get', { id: 'a' })
    })
    // @ts-expect-error no client of that name
    .get('/y', ({ nobody }) => nobody)
  // @ts-expect-error no client
  clients({ users: 1 })
}

describe('the types of gateways', () => {
  it('are as the assertions of this file say, which compiles', () => {
    for (const check of [patterns, data, defaults, headers, documented, untyped, owned, decorators]) {
      expectTypeOf(check).toBeFunction()
    }
  })
})

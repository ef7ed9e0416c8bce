/** The types of declared errors. A wrong assertion does not compile. */
import { describe, it } from 'node:test'
import { t } from 'elysia'
import { expectTypeOf } from 'expect-type'
import { z } from 'zod'
import { connect, type ErrorOf } from '../client/index.ts'
import {
  type DeclaredError,
  type Implements,
  isError,
  type Message,
  type MicroserviceError,
  microservice
} from '../index.ts'
import { decoratorsOf } from '../nest.ts'

const newService = () => microservice({ transport: 'tcp' })
const OUT_OF_STOCK = t.Object({ left: t.Number() })

class NotFound extends Error {
  readonly details = { id: 5 }
}

const stock = newService()
  .message(
    'take',
    ({ data, fail }) => {
      if (data.count > 3) throw fail('OUT_OF_STOCK', { left: 3 }, 'Not so much is left')
      if (data.count === 2) return fail('CLOSED')
      if (data.count === 9) return true
      // @ts-expect-error there is no such error
      if (data.count === 1) throw fail('OUT_OF_STOK', { left: 3 })
      // @ts-expect-error its details are missing
      if (data.count === 0) throw fail('OUT_OF_STOCK')
      // @ts-expect-error its details are another
      throw fail('OUT_OF_STOCK', { left: '3' })
    },
    {
      data: t.Object({ count: t.Number() }),
      response: t.Boolean(),
      errors: { OUT_OF_STOCK: { details: OUT_OF_STOCK, status: 409 }, CLOSED: {} }
    }
  )
  .message('parsed', ({ fail }) => (Math.random() > 1 ? 1 : fail('BAD', { at: '5' })), {
    errors: { BAD: z.object({ at: z.string().transform(Number) }) }
  })
  .message('plain', () => 1)
  .message(
    'count',
    async function* ({ fail }) {
      yield 1
      throw fail('CLOSED')
    },
    { errors: { CLOSED: {} } }
  )

/** Only compiled, never run. */
async function callers(client = connect<typeof stock>()) {
  const { data, error } = await client.safe.request('take', { count: 1 })
  if (error === null) return expectTypeOf(data).toEqualTypeOf<boolean>()
  expectTypeOf(error).toEqualTypeOf<
    MicroserviceError | DeclaredError<'OUT_OF_STOCK', { left: number }> | DeclaredError<'CLOSED', undefined>
  >()
  if (isError(error, 'OUT_OF_STOCK')) return expectTypeOf(error.details).toEqualTypeOf<{ left: number }>()
  if (isError(error, 'CLOSED')) return expectTypeOf(error.details).toEqualTypeOf<undefined>()
  expectTypeOf(error).toEqualTypeOf<MicroserviceError>()

  // @ts-expect-error there is no such error
  client.safe.request('take', { count: 1 }).then(({ error }) => isError(error, 'OUT_OF_STOK'))

  const parsed = await client.safe.request('parsed')
  if (isError(parsed.error, 'BAD')) expectTypeOf(parsed.error.details.at).toEqualTypeOf<number>()
  else if (parsed.error === null) expectTypeOf(parsed.data).toEqualTypeOf<number>()
  const plain = await client.safe.request('plain')
  expectTypeOf(plain.error).toEqualTypeOf<MicroserviceError | null>()
  if (isError(plain.error, 'ANY')) expectTypeOf(plain.error.details).toEqualTypeOf<unknown>()
  expectTypeOf<ErrorOf<typeof stock, 'count'>>().toEqualTypeOf<
    MicroserviceError | DeclaredError<'CLOSED', undefined>
  >()
  const values = client.stream('count')
  expectTypeOf(values).toEqualTypeOf<AsyncIterableIterator<number>>()
  const request = await client.request('take', { count: 1 })
  expectTypeOf(request).toEqualTypeOf<boolean>()
  const untyped = await connect().safe.request<number>('x')
  if (untyped.error === null) expectTypeOf(untyped.data).toEqualTypeOf<number>()
  // @ts-expect-error this is a stream
  client.safe.request('count')
}

function unknownErrors(error: unknown) {
  if (isError(error, 'OUT_OF_STOCK')) expectTypeOf(error.details).toEqualTypeOf<unknown>()
  if (isError(error, 'OUT_OF_STOCK')) expectTypeOf(error.code).toEqualTypeOf<'OUT_OF_STOCK'>()
}

function passing() {
  newService()
    .error('NOT_FOUND', NotFound)
    .message('order', () => 1, { errors: { OUT_OF_STOCK }, passes: ['OUT_OF_STOCK', 'NOT_FOUND'] })
    // @ts-expect-error it is not declared
    .message('other', () => 1, { passes: ['OUT_OF_STOCK'] })
    // @ts-expect-error a declaration is a schema, or has one
    .message('wrong', () => 1, { errors: { OUT_OF_STOCK: 'left' } })
    // @ts-expect-error an event has no answer
    .event('event', () => {}, { errors: { OUT_OF_STOCK } })
}

async function registered() {
  const service = newService()
    .error('NOT_FOUND', NotFound)
    .error({ RANGE: RangeError })
    .message('find', () => 1, { errors: { OUT_OF_STOCK } })
  const { error } = await connect<typeof service>().safe.request('find')
  if (isError(error, 'NOT_FOUND')) expectTypeOf(error.details).toEqualTypeOf<{ id: number }>()
  if (isError(error, 'RANGE')) expectTypeOf(error.details).toEqualTypeOf<undefined>()
  if (isError(error, 'OUT_OF_STOCK')) expectTypeOf(error.details).toEqualTypeOf<{ left: number }>()
}

async function registeredElsewhere() {
  const near = newService().error('NOT_FOUND', NotFound)
  const far = newService().error({ as: 'global' }, { RANGE: RangeError })
  const service = newService()
    .use(near.message('near', () => 1))
    .use(newService().use(far))
    .message('find', () => 1)
    .onError(({ code, error }) => {
      if (code === 'RANGE') expectTypeOf(error).toEqualTypeOf<RangeError>()
      // @ts-expect-error the class counts only in its own service
      return code === 'NOT_FOUND'
    })
  const client = connect<typeof service>()
  const nearby = (await client.safe.request('near')).error
  if (isError(nearby, 'NOT_FOUND')) expectTypeOf(nearby.details).toEqualTypeOf<{ id: number }>()
  const { error } = await client.safe.request('find')
  if (isError(error, 'RANGE')) expectTypeOf(error.details).toEqualTypeOf<undefined>()
  // @ts-expect-error the class counts only in its own service
  if (error !== null) isError(error, 'NOT_FOUND')
  const wide = newService()
    .use(near.as('scoped'))
    .message('find', () => 1)
  const found = (await connect<typeof wide>().safe.request('find')).error
  if (isError(found, 'NOT_FOUND')) expectTypeOf(found.details).toEqualTypeOf<{ id: number }>()
}

async function guards() {
  const service = newService()
    .guard({ errors: { DENIED: t.Object({ why: t.String() }) } })
    .resolve(({ fail }) => {
      expectTypeOf(fail('DENIED', { why: 'a' }).details).toEqualTypeOf<{ why: string }>()
      return Math.random() > 1 ? { user: 'Ada' } : fail('DENIED', { why: 'because' })
    })
    .message(
      'behind',
      ({ user, fail }) => {
        if (user === 'Ada') throw fail('DENIED', { why: 'you' })
        return fail('CLOSED')
      },
      {
        errors: { CLOSED: {} },
        beforeHandle: ({ fail }) => fail('CLOSED'),
        error: ({ code, error }) => (code === 'RPC' ? error.details : undefined)
      }
    )
    .group('inner', (group) => group.message('too', ({ user }) => user))
    .guard({ errors: { LATE: {} } }, (group) => group.message('late', ({ fail }) => fail('LATE')))
  const client = connect<typeof service>()
  const { error } = await client.safe.request('behind')
  if (isError(error, 'DENIED')) expectTypeOf(error.details).toEqualTypeOf<{ why: string }>()
  if (isError(error, 'CLOSED')) expectTypeOf(error.details).toEqualTypeOf<undefined>()
  const inner = await client.safe.request('inner.too')
  if (isError(inner.error, 'DENIED')) expectTypeOf(inner.error.details).toEqualTypeOf<{ why: string }>()
  const late = await client.safe.request('late')
  if (isError(late.error, 'LATE')) return
  if (isError(late.error, 'DENIED')) return
}

async function macros() {
  const service = newService()
    .macro({
      user: {
        errors: { UNAUTHORIZED: { status: 401 } },
        resolve: ({ headers, fail }) =>
          headers['authorization'] === undefined ? fail('UNAUTHORIZED') : { user: headers['authorization'] }
      }
    })
    .message('with', ({ user }) => user, { user: true })
    .message('without', () => 1)
  const { error } = await connect<typeof service>().safe.request('with')
  if (isError(error, 'UNAUTHORIZED')) expectTypeOf(error.details).toEqualTypeOf<undefined>()
  const { error: none } = await connect<typeof service>().safe.request('without')
  expectTypeOf(none).toEqualTypeOf<MicroserviceError | null>()
}

interface Orders {
  'orders.place'(item: string): { id: string } | DeclaredError<'OUT_OF_STOCK', { left: number }>
  'orders.watch'(id: string): AsyncIterable<string> | DeclaredError<'NOT_FOUND', undefined>
  'orders.plain'(): number
}

async function contracts(client = connect<Orders>()) {
  const { data, error } = await client.safe.request('orders.place', 'tea')
  if (isError(error, 'OUT_OF_STOCK')) expectTypeOf(error.details).toEqualTypeOf<{ left: number }>()
  else if (error === null) expectTypeOf(data).toEqualTypeOf<{ id: string }>()
  for await (const state of client.stream('orders.watch', '7')) expectTypeOf(state).toEqualTypeOf<string>()
  const parts = newService()
    .message('orders.watch', async function* ({ data }: Message<string>) {
      yield data
    })
    .message('orders.plain', () => 1)
  parts.message('orders.place', ({ data }: Message<string>) => ({ id: data }), {
    errors: { OUT_OF_STOCK, OTHER: {} }
  }) satisfies Implements<Orders>
  parts.message('orders.place', ({ data }: Message<string>) => ({ id: data }), {
    errors: { OTHER: {} }
  }) satisfies Implements<Orders>
  parts.message('orders.place', ({ data }: Message<string>) => ({ id: data })) satisfies Implements<Orders>
  parts.message('orders.place', ({ data }: Message<string>) => ({ id: data }), {
    errors: { OUT_OF_STOCK: t.Object({ left: t.String() }) }
    // @ts-expect-error the details are not those of the contract
  }) satisfies Implements<Orders>
}

describe('the types of errors', () => {
  it('compile', () =>
    void [
      ...[callers, unknownErrors, passing, registered, registeredElsewhere, guards, macros],
      ...[contracts, decoratorsOf]
    ])
})

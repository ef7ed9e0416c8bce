/** The types of a service's needs, which the service that uses it must meet. A wrong assertion does not compile. */
import { describe, it } from 'node:test'
import { Elysia, t } from 'elysia'
import { expectTypeOf } from 'expect-type'
import { connect } from '../client/index.ts'
import { gateway } from '../gateway/index.ts'
import { isError, type Message, type MessageBehind, microservice } from '../index.ts'

const newService = () => microservice({ transport: 'tcp' })

interface User {
  readonly name: string
}

const auth = newService()
  .decorate('users', new Map<string, User>())
  .guard({
    as: 'scoped',
    headers: t.Object({ authorization: t.String() }),
    errors: { UNAUTHORIZED: { details: t.Object({ why: t.String() }), status: 401 } }
  })
  .resolve({ as: 'scoped' }, ({ headers, users, fail }) => {
    expectTypeOf(headers).toEqualTypeOf<{ authorization: string }>()
    const user = users.get(headers.authorization)
    return user === undefined ? fail('UNAUTHORIZED', { why: 'unknown' }) : { user }
  })

/** Only compiled, never run. */
async function behind() {
  const orders = microservice<typeof auth>({ transport: 'tcp' })
    .message('orders.mine', ({ user, headers, fail }) => {
      expectTypeOf(user).toEqualTypeOf<User>()
      expectTypeOf(headers).toEqualTypeOf<{ authorization: string }>()
      if (user.name === '') throw fail('UNAUTHORIZED', { why: 'no name' })
      return user.name
    })
    .group('inner', (group) => group.message('mine', ({ user }) => user.name))
    // @ts-expect-error nothing of that name
    .message('wrong', ({ nobody }) => nobody)
  const shop = newService().use(auth).use(orders)
  const client = connect<typeof shop>()
  expectTypeOf(
    await client.request('orders.mine', undefined, { headers: { authorization: 'a' } })
  ).toEqualTypeOf<string>()
  // @ts-expect-error the header is required
  client.request('orders.mine')
  const { error } = await client.safe.request('orders.mine', undefined, { headers: { authorization: 'a' } })
  if (isError(error, 'UNAUTHORIZED')) expectTypeOf(error.details).toEqualTypeOf<{ why: string }>()

  await shop.listen()
  new Elysia().use(shop)
  const other = newService().resolve({ as: 'scoped' }, () => ({ user: 'Ada' }))
  // @ts-expect-error nothing adds a user
  newService().use(orders)
  // @ts-expect-error it is added too late
  newService().use(orders).use(auth)
  // @ts-expect-error this user is another
  newService().use(other).use(orders)
  // @ts-expect-error nothing adds a user
  await orders.listen()
  // @ts-expect-error nothing adds a user
  new Elysia().use(orders)
  // The service may use `auth` itself, or be used by a service that has the same needs.
  await orders.use(auth).listen()
  const both = microservice<typeof auth>({ transport: 'tcp' }).use(orders)
  // @ts-expect-error nothing adds a user
  await both.listen()
  newService().use(auth).use(both)
}

async function scopes() {
  const service = newService()
    .use(auth)
    .message('near', ({ user, headers }) => [user.name, headers.authorization])
  const client = connect<typeof service>()
  await client.request('near', undefined, { headers: { authorization: 'a' } })
  // @ts-expect-error the header is required
  await client.request('near')
  newService()
    .use(service)
    // @ts-expect-error a scoped hook reaches one service up
    .message('far', ({ user }) => user)
  const all = newService()
    .use(newService().use(auth.as('global')))
    .message('all', ({ user, headers }) => [
      expectTypeOf(user).toEqualTypeOf<User>(),
      expectTypeOf(headers).toEqualTypeOf<{ authorization: string }>()
    ])
  const { error } = await connect<typeof all>().safe.request('all', undefined, {
    headers: { authorization: 'a' }
  })
  if (isError(error, 'UNAUTHORIZED')) expectTypeOf(error.details).toEqualTypeOf<{ why: string }>()
}

function apart() {
  const greet = ({ user, data, headers }: MessageBehind<typeof auth, { word: string }>) => {
    expectTypeOf(user).toEqualTypeOf<User>()
    expectTypeOf(headers).toEqualTypeOf<{ authorization: string }>()
    return `${data.word}, ${user.name}`
  }
  const service = newService().use(auth).message('greet', greet)
  const headers = { authorization: 'a' }
  expectTypeOf(connect<typeof service>().request('greet', { word: 'Hello' }, { headers })).toEqualTypeOf<
    Promise<string>
  >()
  // @ts-expect-error the word is a text
  connect<typeof service>().request('greet', { word: 1 }, { headers })
  // @ts-expect-error nothing adds a user
  newService().message('greet', greet)
  const needy = ({ user }: Message & { readonly user: User }) => user.name
  // @ts-expect-error nothing adds a user
  newService().message('needy', needy)
}

async function optional() {
  const maybe = newService().resolve({ as: 'scoped' }, ({ headers }) =>
    headers['user'] === undefined ? {} : ({ user: headers['user'] } as { readonly user?: string })
  )
  const orders = microservice<typeof maybe>({ transport: 'tcp' }).message('user', ({ user }) => user)
  await newService().use(maybe).use(orders).listen()
  // @ts-expect-error nothing adds a user
  newService().use(orders)
}

/**
 * The type of `metadata` is unknown. The result of a hook that reads it has a type in guards, macros and services
 * above.
 */
async function metadata() {
  const tenants = newService()
    .resolve({ as: 'scoped' }, ({ metadata }) => {
      expectTypeOf(metadata).toBeUnknown()
      return { tenant: Number((metadata as { readonly tenant?: unknown } | undefined)?.tenant) }
    })
    .macro({ own: { beforeHandle: ({ tenant }) => expectTypeOf(tenant).toEqualTypeOf<number>() } })
  const notes = microservice<typeof tenants>({ transport: 'tcp' })
    .guard({ beforeHandle: ({ tenant }) => void expectTypeOf(tenant).toEqualTypeOf<number>() })
    .message('notes', ({ tenant }) => tenant)
  const shop = newService()
    .use(tenants)
    .use(notes)
    .message('own', ({ tenant }) => tenant, { own: true })
  expectTypeOf(await connect<typeof shop>().request('own')).toEqualTypeOf<number>()
  gateway(connect<typeof shop>(), { 'GET /notes': 'notes' })
  // @ts-expect-error nothing adds a tenant
  newService().use(notes)
}

describe('the types of needs', () => {
  it('compile', () => void [behind, scopes, apart, optional, metadata])
})

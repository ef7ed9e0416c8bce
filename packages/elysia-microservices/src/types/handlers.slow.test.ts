/** The types inside handlers and hooks. The assertions are about types: a wrong type does not compile. */
import { describe, it } from 'node:test'
import { type } from 'arktype'
import { Elysia, t } from 'elysia'
import { expectTypeOf } from 'expect-type'
import * as v from 'valibot'
import { z } from 'zod'
import { connect } from '../client/index.ts'
import { type Message, microservice, type RpcError, type ValidationError } from '../index.ts'

const newService = () => microservice({ transport: 'tcp' })

/** Only compiled, never run. */
function schemas() {
  newService()
    .message('typebox', ({ data }) => expectTypeOf(data).toEqualTypeOf<number[]>(), {
      data: t.Array(t.Number())
    })
    .message('transform', ({ data }) => expectTypeOf(data).toEqualTypeOf<Date>(), {
      data: t
        .Transform(t.String())
        .Decode((text) => new Date(text))
        .Encode((date) => date.toISOString())
    })
    .message('zod', ({ data }) => expectTypeOf(data).toEqualTypeOf<{ a: number }>(), {
      data: z.object({ a: z.string().transform(Number) })
    })
    .message('valibot', ({ data }) => expectTypeOf(data).toEqualTypeOf<string>(), { data: v.string() })
    .message('arktype', ({ data }) => expectTypeOf(data).toEqualTypeOf<{ a: string }>(), {
      data: type({ a: 'string' })
    })
    .message('headers', ({ headers }) => expectTypeOf(headers).toEqualTypeOf<{ tenant: string }>(), {
      headers: t.Object({ tenant: t.String() })
    })
    .message('annotated', ({ data }: Message<string>) => data, { response: t.String() })
    .message('nothing', ({ data, headers }) => {
      expectTypeOf(data).toEqualTypeOf<unknown>()
      expectTypeOf(headers).toEqualTypeOf<Readonly<Record<string, string>>>()
    })
    .event('event', ({ data }) => expectTypeOf(data).toEqualTypeOf<{ id: number }>(), {
      data: t.Object({ id: t.Number() })
    })
    .message('with hooks', ({ data }) => expectTypeOf(data).toEqualTypeOf<number>(), {
      data: t.Number(),
      beforeHandle: ({ data }) => expectTypeOf(data).toEqualTypeOf<number>(),
      afterHandle: [({ data, response }) => [expectTypeOf(data).toEqualTypeOf<number>(), response]],
      error: ({ code }) => code
    })
}

function responses() {
  newService()
    .message('value', () => 'a', { response: t.Literal('a') })
    .message('promise', async () => ({ id: 1 }), { response: t.Object({ id: t.Number() }) })
    .message('decoded', () => new Date(), {
      response: t
        .Transform(t.String())
        .Decode((text) => new Date(text))
        .Encode((date) => date.toISOString())
    })
    .message(
      'stream',
      async function* () {
        yield 1
      },
      { response: t.Number() }
    )
    .message('input of a Standard Schema', () => '5', { response: z.string().transform(Number) })
    // @ts-expect-error the response is a text
    .message('wrong value', () => 1, { response: t.String() })
    .message(
      'wrong stream',
      // @ts-expect-error the values are texts
      async function* () {
        yield 1
      },
      { response: t.String() }
    )
    // @ts-expect-error there is no such option
    .message('misspelt', () => 1, { dta: t.Number() })
    // @ts-expect-error the data is a number
    .message('annotated otherwise', ({ data }: Message<string>) => data, { data: t.Number() })
}

function params() {
  newService()
    .message('orders.*', ({ params }) => expectTypeOf(params).toEqualTypeOf<readonly [string]>())
    .message('a.*.b.>', ({ params }) => expectTypeOf(params).toEqualTypeOf<readonly [string, string]>())
    .message(['a.*', 'b'], ({ params }) =>
      expectTypeOf(params).toEqualTypeOf<readonly [string] | readonly []>()
    )
    .message(/^a-(\d+)$/, ({ params }) => [
      expectTypeOf(params[0]).toEqualTypeOf<string | undefined>(),
      expectTypeOf(params.groups).toEqualTypeOf<Readonly<Record<string, string | undefined>> | undefined>()
    ])
    // @ts-expect-error an exact pattern has nothing to stand for
    .message('exact', ({ params }) => params)
}

class NotFound extends Error {
  readonly id = 5
}

function hooks() {
  newService()
    .decorate('db', { find: (id: number) => ({ id }) })
    .decorate({ clock: () => Date.now() })
    .state('count', 0)
    .state({ name: 'x' })
    .derive(({ headers }) => ({ tenant: headers['tenant'] ?? 'none' }))
    .derive(({ tenant }) => (tenant === 'none' ? new Error('no tenant') : { upper: tenant.toUpperCase() }))
    .resolve(async ({ db }) => ({ user: db.find(1) }))
    .error('NOT_FOUND', NotFound)
    .error({ RANGE: RangeError })
    .onBeforeHandle(({ user, upper }) => {
      expectTypeOf(user).toEqualTypeOf<{ id: number }>()
      expectTypeOf(upper).toEqualTypeOf<string>()
    })
    .onError((context) => {
      if (context.code === 'NOT_FOUND') expectTypeOf(context.error).toEqualTypeOf<NotFound>()
      if (context.code === 'RANGE') expectTypeOf(context.error).toEqualTypeOf<RangeError>()
      if (context.code === 'VALIDATION') expectTypeOf(context.error).toEqualTypeOf<ValidationError>()
      if (context.code === 'RPC') expectTypeOf(context.error).toEqualTypeOf<RpcError>()
      if (context.code === 'UNKNOWN') expectTypeOf(context.error).toEqualTypeOf<unknown>()
      expectTypeOf(context.code).toEqualTypeOf<'NOT_FOUND' | 'RANGE' | 'VALIDATION' | 'RPC' | 'UNKNOWN'>()
    })
    .message('all', ({ db, clock, store, tenant, upper, user }) => {
      expectTypeOf(db.find).returns.toEqualTypeOf<{ id: number }>()
      expectTypeOf(clock()).toEqualTypeOf<number>()
      store.count += 1
      expectTypeOf(store.name).toEqualTypeOf<string>()
      expectTypeOf(tenant).toEqualTypeOf<string>()
      expectTypeOf(upper).toEqualTypeOf<string>()
      expectTypeOf(user).toEqualTypeOf<{ id: number }>()
    })
    // @ts-expect-error nothing of that name
    .message('unknown', ({ nothing }) => nothing)
}

function scopes() {
  const used = newService()
    .derive(() => ({ mine: 1 }))
    .derive({ as: 'scoped' }, () => ({ near: 'a' }))
    .resolve({ as: 'global' }, () => ({ far: true }))
  const user = newService()
    .use(used)
    .message('x', ({ near, far }) => [
      expectTypeOf(near).toEqualTypeOf<string>(),
      expectTypeOf(far).toEqualTypeOf<boolean>()
    ])
    // @ts-expect-error a local hook stays with its service
    .message('y', ({ mine }) => mine)
  newService()
    .use(user)
    .message('x', ({ far }) => expectTypeOf(far).toEqualTypeOf<boolean>())
    // @ts-expect-error a scoped hook reaches one service up
    .message('y', ({ near }) => near)
  newService()
    .use(used.as('global'))
    .message('x', ({ mine, near }) => [mine, near])
}

function guards() {
  newService()
    .guard({ data: t.Object({ id: t.Number() }), beforeHandle: ({ data }) => void data.id })
    .message('guarded', ({ data }) => expectTypeOf(data).toEqualTypeOf<{ id: number }>())
    .message('own', ({ data }) => expectTypeOf(data).toEqualTypeOf<string>(), { data: t.String() })
  newService()
    .guard({ data: t.Number(), response: t.String() }, (g) =>
      g
        .message('inside', ({ data }) => String(expectTypeOf(data).toEqualTypeOf<number>()))
        // @ts-expect-error the guard wants a text
        .message('wrong', () => 1)
    )
    .message('outside', ({ data }) => expectTypeOf(data).toEqualTypeOf<unknown>())
  newService()
    .macro({
      role: (_role: 'admin' | 'user') => ({ beforeHandle: () => {} }),
      logged: { afterHandle: () => {} }
    })
    .message('a', () => 1, { role: 'admin', logged: true })
    // @ts-expect-error there is no such role
    .message('b', () => 1, { role: 'nobody' })
}

function standingGuards() {
  const id = t.Object({ id: t.Number() })
  const page = t.Object({ page: t.Number() })
  type Both = { id: number } & { page: number }
  newService()
    .guard({ schema: 'standalone', data: id })
    .message('without', ({ data }) => expectTypeOf(data).toEqualTypeOf<{ id: number }>())
    .message('own', ({ data }) => expectTypeOf(data).toEqualTypeOf<Both>(), { data: page })
  newService()
    .guard({ data: id, response: id }, (g) =>
      g
        .message('own', ({ data }) => ({ ...data, more: expectTypeOf(data).toEqualTypeOf<Both>() }), {
          data: page,
          response: page
        })
        // @ts-expect-error the guard's schema of the answer has an id
        .message('wrong', () => ({ page: 1 }), { response: page })
    )
    .message('outside', ({ data }) => expectTypeOf(data).toEqualTypeOf<unknown>())
  const macros = newService().macro({ withId: { data: id }, paged: (_size: number) => ({ data: page }) })
  macros
    .guard({ data: t.Object({ name: t.String() }) })
    .message('two', ({ data }) => expectTypeOf(data).toEqualTypeOf<{ name: string } & Both>(), {
      withId: true,
      paged: 5
    })
    .message('own', ({ data }) => expectTypeOf(data).toEqualTypeOf<{ page: number } & { id: number }>(), {
      withId: true,
      data: page
    })
  macros
    .guard({ withId: true })
    .message('in a guard', ({ data }) => expectTypeOf(data).toEqualTypeOf<Both>(), { data: page })

  const auth = newService().guard({
    as: 'scoped',
    schema: 'standalone',
    headers: t.Object({ authorization: t.String() })
  })
  const orders = newService()
    .use(auth)
    .message(
      'orders',
      ({ headers }) => expectTypeOf(headers).toEqualTypeOf<{ page: number } & { authorization: string }>(),
      { headers: page }
    )
  newService()
    .use(orders)
    .message('above', ({ headers }) => expectTypeOf(headers).toEqualTypeOf<Message['headers']>())
  const client = connect<typeof orders>()
  client.request('orders', 1, { headers: { authorization: 'x', page: '1' } })
  // @ts-expect-error authorization is missing
  client.request('orders', 1, { headers: { page: '1' } })

  // As in Elysia, the guard of the narrowest scope counts, in any order.
  newService()
    .guard({ data: t.Number() })
    .guard({ as: 'global', data: t.String() })
    .message('local', ({ data }) => expectTypeOf(data).toEqualTypeOf<number>())
    .group('group', (g) =>
      g
        .guard({ as: 'global', data: t.Boolean() })
        .message('inside', ({ data }) => expectTypeOf(data).toEqualTypeOf<boolean>())
    )
    .as('global')
    .message('widened', ({ data }) => expectTypeOf(data).toEqualTypeOf<number>())
}

function macros() {
  const service = newService().macro({
    user: { resolve: ({ headers }) => ({ user: { name: headers['user'] ?? 'nobody' } }) },
    role: (role: 'admin' | 'user') => ({
      derive: () => ({ token: 'x' }),
      resolve: [async () => ({ rights: [role] }), () => (role === 'user' ? new Error('no') : { level: 1 })],
      beforeHandle: () => {}
    }),
    maybe: (wanted: boolean) => (wanted ? { resolve: () => ({ seen: true }) } : undefined),
    either: (n: number) =>
      n > 1 ? { resolve: () => ({ either: 1 }) } : { resolve: () => ({ either: 'a' }) },
    anything: { resolve: () => JSON.parse('{}') },
    listed: { data: t.Array(t.Number()), response: t.Number() }
  })
  service
    .message('one', ({ user }) => expectTypeOf(user).toEqualTypeOf<{ name: string }>(), { user: true })
    .message(
      'several',
      ({ user, rights, level, token, data }) => [
        expectTypeOf(user.name).toEqualTypeOf<string>(),
        expectTypeOf(rights).toEqualTypeOf<('admin' | 'user')[]>(),
        expectTypeOf(level).toEqualTypeOf<number>(),
        expectTypeOf(token).toEqualTypeOf<string>(),
        expectTypeOf(data).toEqualTypeOf<string>()
      ],
      {
        user: true,
        role: 'admin',
        data: t.String(),
        beforeHandle: ({ user, level, data }) => {
          expectTypeOf(user.name).toEqualTypeOf<string>()
          expectTypeOf(level).toEqualTypeOf<number>()
          expectTypeOf(data).toEqualTypeOf<string>()
        },
        error: [({ code, user }) => `${code} ${user.name}`]
      }
    )
    .message('maybe', ({ seen }) => expectTypeOf(seen).toEqualTypeOf<boolean>(), { maybe: true })
    .message(
      'listed',
      ({ data }) => (expectTypeOf(data).toEqualTypeOf<number[]>().valueOf() === true ? 1 : 2),
      { listed: true }
    )
    // @ts-expect-error the macro's schema wants a number
    .message('listed wrong', () => 'a', { listed: true })
    .event('event', ({ user }) => expectTypeOf(user).toEqualTypeOf<{ name: string }>(), { user: true })
    .message('either', ({ either }) => expectTypeOf(either).toEqualTypeOf<number | string>(), { either: 1 })
    // @ts-expect-error nothing is known of what the macro adds
    .message('anything', ({ whatever }) => whatever, { anything: true })
    // @ts-expect-error switched off
    .message('off', ({ user }) => user, { user: false })
    // @ts-expect-error not used
    .message('without', ({ user }) => user)
    // @ts-expect-error there is no such macro
    .message('misspelt', () => 1, { usr: true })
    // @ts-expect-error not what the macro takes
    .message('wrong value', () => 1, { user: 'yes' })
  service
    .guard({ user: true }, (group) => group.message('in', ({ user }) => user.name))
    // @ts-expect-error outside of the group
    .message('outside', ({ user }) => user)
    .guard({ listed: true, user: true, beforeHandle: ({ user, data }) => void [user.name, data.length] })
    .message('behind', ({ user, data }) => data.length + user.name.length)
  newService()
    .use(service.guard({ as: 'scoped', user: true }))
    .message('above', ({ user }) => user.name)
    // @ts-expect-error a macro of the service that is used, which this handler does not use
    .message('above without', ({ level }) => level)
    .message('macro from below', ({ level }) => level, { role: 'user' })
}

function hosts() {
  const app = new Elysia().decorate('db', { size: 1 }).state('visits', 0)
  microservice<typeof app>({ transport: 'tcp' }).message('x', ({ db, store }) => [
    expectTypeOf(db).toEqualTypeOf<{ size: number }>(),
    expectTypeOf(store.visits).toEqualTypeOf<number>()
  ])
  newService()
    .use(app)
    .message('x', ({ db, store }) => [db.size, store.visits])
}

function macrosOfMacros() {
  const service = newService()
    .macro({
      role: (_role: 'admin' | 'user') => ({
        resolve: () => ({ user: 'Ada' }),
        errors: { FORBIDDEN: {} }
      })
    })
    .macro({
      paged: { data: t.Object({ page: t.Number() }) },
      admin: { role: 'admin', paged: true, resolve: () => ({ isAdmin: true }) },
      either: (role: 'admin' | 'user') => ({ role, beforeHandle: () => {} })
    })
    .macro('owner', { admin: true, data: t.Object({ id: t.Number() }) })
  service
    .message(
      'admin',
      ({ user, isAdmin, data, fail }) => {
        expectTypeOf(user).toEqualTypeOf<string>()
        expectTypeOf(isAdmin).toEqualTypeOf<boolean>()
        expectTypeOf(data).toEqualTypeOf<{ page: number }>()
        throw fail('FORBIDDEN')
      },
      { admin: true }
    )
    .message('either', ({ user }) => user, { either: 'user' })
    .message(
      'owner',
      ({ data, user }) =>
        expectTypeOf([data, user] as const).toEqualTypeOf<
          readonly [{ id: number } & { page: number }, string]
        >(),
      { owner: true }
    )
  service
    // @ts-expect-error a misspelt hook
    .macro({ a: { beforeHandel: () => {}, afterHandle() {} } })
  service
    // @ts-expect-error a misspelt hook in what a function returns
    .macro({ b: () => ({ beforeHandel: () => {}, afterHandle() {} }) })
  service
    // @ts-expect-error there is no such role
    .macro({ c: { role: 'nobody', afterHandle() {} } })
  service
    // @ts-expect-error a macro that is an object is switched on by true
    .macro({ d: { paged: 'yes', afterHandle() {} } })
  service
    // @ts-expect-error a misspelt hook in the second argument
    .macro('e', { beforeHandel: () => {}, afterHandle() {} })
  // A macro of a used service replaces one of the same name.
  newService()
    .macro({ role: (_level: number) => ({ resolve: () => ({ level: 1 }) }) })
    .use(service)
    .message('used', ({ user }) => user, { role: 'admin' })
    // @ts-expect-error the replaced macro took a number
    .message('replaced', () => 1, { role: 5 })
}

describe('the types in handlers', () => {
  it('are as the assertions of this file say, which compiles', () => {
    for (const check of [
      schemas,
      responses,
      params,
      hooks,
      scopes,
      guards,
      standingGuards,
      macros,
      macrosOfMacros,
      hosts
    ]) {
      expectTypeOf(check).toBeFunction()
    }
  })
})

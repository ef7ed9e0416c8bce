/** Services that use other services, macros, and the decorators and store of an app. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Elysia, t } from 'elysia'
import { connect } from '../client/index.ts'
import { RpcError } from '../index.ts'
import { listening, newService } from '../testing/service.ts'

describe('services that use services', () => {
  const seen: string[] = []
  const auth = newService()
    .decorate('users', { 1: 'Ada' } as Record<string, string>)
    .derive(() => ({ local: true }))
    .resolve({ as: 'scoped' }, ({ headers, users }) => ({ user: users[headers['user'] ?? ''] }))
    .onBeforeHandle({ as: 'global' }, ({ pattern }) => void seen.push(pattern))
    .message('whoami', ({ user, local }) => [user, local])
  const orders = newService()
    .message('before', (context) => Reflect.get(context, 'user') ?? 'nobody')
    .use(auth)
    .message('mine', (context) => [context.user, Reflect.get(context, 'local') ?? 'not here'])
    .group('orders', (g) =>
      g
        .derive(() => ({ inGroup: true }))
        .message('create', ({ user, inGroup }) => [user, inGroup])
        .message('*.items', ({ params }) => params[0])
        .group('deep', (h) => h.event('seen', () => void seen.push('deep')).message(7, () => 'seven'))
    )
    .message('after the group', (context) => Reflect.get(context, 'inGroup') ?? 'not here')
    .guard({ data: t.Number(), beforeHandle: () => void seen.push('guard') }, (g) =>
      g
        .message('guarded', ({ data }) => data)
        .message('own', ({ data }) => data, { data: t.Number({ maximum: 5 }) })
    )
    .message('after the guard', ({ data }) => data)
  const app = newService()
    .use(orders)
    .message('far', (context) => Reflect.get(context, 'user') ?? 'nobody')
  const client = listening(app)
  const ada = { headers: { user: '1' } }

  it('answer for them, with their hooks', async () => {
    assert.deepEqual(await client().request('whoami', 0, ada), ['Ada', true])
  })

  it('get scoped hooks from the services they use, for what follows, and no local ones', async () => {
    assert.equal(await client().request('before', 0, ada), 'nobody')
    assert.deepEqual(await client().request('mine', 0, ada), ['Ada', 'not here'])
    assert.equal(await client().request('far', 0, ada), 'nobody')
  })

  it('get global hooks from everything below, each once', async () => {
    seen.length = 0
    for (const pattern of ['before', 'mine', 'whoami', 'far']) await client().request(pattern)
    assert.deepEqual(seen, ['mine', 'whoami', 'far'])
  })

  it('put the patterns of a group behind its prefix, and keep its hooks there', async () => {
    assert.deepEqual(await client().request('orders.create', 0, ada), ['Ada', true])
    assert.equal(await client().request('orders.5.items'), '5')
    assert.equal(await client().request('orders.deep.7'), 'seven')
    assert.equal(await client().request('after the group'), 'not here')
    seen.length = 0
    await client().emit('orders.deep.seen')
    await client().request('far')
    assert.deepEqual(seen, ['orders.deep.seen', 'deep', 'far'])
  })

  it('guard what stands inside, where a schema of its own holds beside that of the guard', async () => {
    seen.length = 0
    assert.equal(await client().request('guarded', 1), 1)
    assert.equal(await client().request('own', 5), 5)
    for (const wrong of ['text', 6])
      await assert.rejects(client().request('own', wrong), { code: 'VALIDATION' })
    await assert.rejects(client().request('guarded', 'text'), { code: 'VALIDATION' })
    assert.equal(await client().request('after the guard', 'text'), 'text')
    assert.deepEqual(
      seen.filter((name) => name === 'guard'),
      ['guard', 'guard']
    )
  })

  it('answer a pattern once', () => {
    assert.throws(
      () =>
        newService()
          .message('whoami', () => 1)
          .use(auth),
      { name: 'OptionError' }
    )
  })
})

describe('macros', () => {
  const service = newService()
    .macro({
      role: (role: string) => ({
        beforeHandle: ({ headers }) =>
          headers['role'] === role ? undefined : new RpcError({ code: 'FORBIDDEN' })
      }),
      numbers: { data: t.Array(t.Number()) },
      user: (least: number) => ({
        derive: ({ headers }) => ({ name: headers['name'] ?? '' }),
        resolve: async ({ headers }) => {
          const level = Number(headers['level'])
          return level < least ? new RpcError({ code: 'FORBIDDEN' }) : { level }
        }
      })
    })
    .message('who', ({ name, level }) => `${name} ${level}`, {
      user: 2,
      afterHandle: ({ response, level }) => `${response} of ${level * 10}`
    })
    .guard({ user: 5 }, (g) => g.message('guarded', ({ name, level }) => [name, level]))
    .message('admin', () => 'done', { role: 'admin', numbers: true })
    .guard({ role: 'user' }, (g) => g.message('user', () => 'done'))
  const client = listening(service)

  it('are options of handlers and guards', async () => {
    assert.equal(await client().request('admin', [1], { headers: { role: 'admin' } }), 'done')
    await assert.rejects(client().request('admin', [1]), { code: 'FORBIDDEN' })
    await assert.rejects(client().request('admin', 5, { headers: { role: 'admin' } }), { code: 'VALIDATION' })
    assert.equal(await client().request('user', 0, { headers: { role: 'user' } }), 'done')
    await assert.rejects(client().request('user', 0), { code: 'FORBIDDEN' })
  })

  it('add what their derive and resolve return', async () => {
    const headers = { name: 'Ada', level: '3' }
    assert.equal(await client().request('who', 0, { headers }), 'Ada 3 of 30')
    await assert.rejects(client().request('guarded', 0, { headers }), { code: 'FORBIDDEN' })
    const asked = client().request('guarded', 0, { headers: { ...headers, level: '7' } })
    assert.deepEqual(await asked, ['Ada', 7])
  })
})

describe('decorators and store', () => {
  it('of the app reach handlers, wherever they are added, and the store is one', async () => {
    const service = newService()
      .state('count', 0)
      .message('all', (context) => {
        context.store.count += 1
        return [Reflect.get(context, 'db'), Reflect.get(context, 'late'), context.store]
      })
    const inner = new Elysia().decorate('db', 'inner').state('visits', 1).use(service)
    const outer = new Elysia().decorate('late', 'outer').state({ more: 2 }).use(inner)
    // Runs the start hooks as `app.listen` does, but without an HTTP server.
    const { start } = outer.event
    for (const { fn } of start ?? []) await (fn as (app: unknown) => unknown)(outer)
    await service.listen()
    const client = connect({ host: '127.0.0.1', port: service.address!.port })
    assert.deepEqual(await client.request('all'), ['inner', 'outer', { count: 1, visits: 1, more: 2 }])
    Object.assign(outer.store, { visits: 5 })
    assert.deepEqual(await client.request('all'), ['inner', 'outer', { count: 2, visits: 5, more: 2 }])
    await client.close()
    await service.stop()
  })

  it('may be taken from an Elysia app', async () => {
    const app = new Elysia().decorate('greeting', 'hello').state('n', 1)
    const service = await newService()
      .use(app)
      .message('x', ({ greeting, store }) => [greeting, store.n])
      .listen()
    const client = connect({ host: '127.0.0.1', port: service.address!.port })
    assert.deepEqual(await client.request('x'), ['hello', 1])
    await client.close()
    await service.stop()
  })
})

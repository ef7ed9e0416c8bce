/** Services as their callers see them, over sockets and both protocols. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { Elysia, t } from 'elysia'
import { from } from 'rxjs'
import { z } from 'zod'
import { connect, type UntypedClient } from './client/index.ts'
import { microservice, ResponseValidationError, RpcError } from './index.ts'

const logged: unknown[] = []
const logger = { error: (_text: string, cause?: unknown) => void logged.push(cause), warn() {} }
const newService = () => microservice({ transport: 'tcp', host: '127.0.0.1', port: 0, logger })

/** Everything a stream gives. */
async function valuesOf(stream: AsyncIterable<unknown>): Promise<unknown[]> {
  const values: unknown[] = []
  for await (const value of stream) values.push(value)
  return values
}

/** A service that listens, and the means to call it without types. */
function listening(
  service: ReturnType<typeof newService> | object,
  protocol: 'nest' | 'rsocket' = 'rsocket'
) {
  const running = service as ReturnType<typeof newService>
  let client: UntypedClient
  before(async () => {
    await running.listen()
    client = connect({ host: '127.0.0.1', port: running.address!.port, protocol })
  })
  after(async () => {
    await client.close()
    await running.stop()
  })
  return () => client
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
  })
}

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
      g.message('guarded', ({ data }) => data).message('own', ({ data }) => data, { data: t.String() })
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

  it('guard what stands inside, where a schema of its own wins', async () => {
    seen.length = 0
    assert.equal(await client().request('guarded', 1), 1)
    assert.equal(await client().request('own', 'text'), 'text')
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
      { name: 'ValidationError' }
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
      numbers: { data: t.Array(t.Number()) }
    })
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
})

describe('decorators and store', () => {
  it('of the app reach handlers, whoever adds them, and the store is one', async () => {
    const service = newService()
      .state('count', 0)
      .message('all', (context) => {
        context.store.count += 1
        return [Reflect.get(context, 'db'), Reflect.get(context, 'late'), context.store]
      })
    const inner = new Elysia().decorate('db', 'inner').state('visits', 1).use(service)
    const outer = new Elysia().decorate('late', 'outer').state({ more: 2 }).use(inner)
    // The hooks of `app.listen`, without its HTTP server.
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

describe('a definition that is wrong is refused at once', () => {
  /** Calls a method as JavaScript may. */
  const call = (service: object, method: string, ...args: unknown[]) =>
    (Reflect.get(service, method) as (...args: unknown[]) => unknown)(...args)
  const cases: Record<string, [(service: object) => unknown, string]> = {
    'a handler that is no function': [(s) => call(s, 'message', 'x', 5), 'handler'],
    'an option that is none': [(s) => call(s, 'message', 'x', () => 1, { dta: t.Number() }), 'options.dta'],
    'a schema that is none': [(s) => call(s, 'message', 'x', () => 1, { data: {} }), 'options.data'],
    'a hook that is no function': [(s) => call(s, 'onError', 'x'), 'error'],
    'a scope that is none': [(s) => call(s, 'derive', { as: 'everywhere' }, () => ({})), 'options.as'],
    'a scope that narrows': [(s) => call(s, 'as', 'local'), 'scope'],
    'a decorator of a name that is taken': [(s) => call(s, 'decorate', 'data', 1), 'decorator'],
    'a prefix with wildcards': [(s) => call(s, 'group', 'a.*', () => s), 'prefix'],
    'no prefix': [(s) => call(s, 'group', '', () => s), 'prefix'],
    'an object in a group': [
      (s) => call(s, 'group', 'a', (g: object) => call(g, 'message', { cmd: 'x' }, () => 1)),
      "pattern in group 'a'"
    ],
    'a plugin that is none': [(s) => call(s, 'use', {}), 'plugin']
  }
  for (const [name, [define, path]] of Object.entries(cases)) {
    it(name, () => {
      assert.throws(() => define(newService()), { name: 'ValidationError', path })
    })
  }
})

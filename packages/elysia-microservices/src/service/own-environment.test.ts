/** Decorators and store: services that are put together keep their own. */
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { Elysia } from 'elysia'
import { expectTypeOf } from 'expect-type'
import { connect, type UntypedClient } from '../client/index.ts'
import { memory, microservice, OptionError } from '../index.ts'
import { Cleanups } from '../testing/ways.ts'

const cleanups = new Cleanups()
afterEach(() => cleanups.run())

const part = () => microservice({ transport: memory() })
type Part = ReturnType<typeof part>

class Pool {
  readonly name: string
  opened = 0
  ended = 0
  constructor(name: string) {
    this.name = name
  }
}

/** A service with a decorator and a state that other services have, too. */
const department = (name: string, pool = new Pool(name)) =>
  part()
    .decorate({ pool })
    .state('count', 0)
    .onStart(({ pool, store }) => {
      pool.opened++
      store.count = 100
    })
    .onStop(({ pool }) => void pool.ended++)
    .derive(({ pool }) => ({ derived: pool.name }))
    .message(`${name}.ask`, ({ pool, store, derived }) => [pool.name, derived, ++store.count])

async function started(make: (main: Part) => object) {
  const transport = memory()
  const service = make(microservice({ transport }) as unknown as Part) as Part
  await cleanups.add(service).listen()
  return { service, caller: cleanups.add(connect({ transport }) as UntypedClient) }
}

/** Compositions of two services with decorators and states of the same names. */
const COMPOSITIONS: Readonly<Record<string, (main: Part, a: Part, b: Part) => object>> = {
  'one after the other': (main, a, b) => main.use(a).use(b),
  'in a service with such names, too': (main, a, b) =>
    main.decorate('pool', new Pool('main')).state('count', 1_000).use(a).use(b),
  'in groups': (main, a, b) => main.guard({}, (g) => g.use(a)).guard({}, (g) => g.use(b)),
  'in a group with such names, too': (main, a, b) =>
    main.guard({}, (g) => g.decorate('pool', new Pool('group')).state('count', 7).use(a).use(b)),
  'one in the other': (main, a, b) => main.use(a.use(b)),
  'at several depths': (main, a, b) =>
    main
      .use(part().use(part().use(a)))
      .use(part().use(b))
      .use(a),
  'with an app of such names': (main, a, b) =>
    main
      .use(new Elysia().decorate('pool', new Pool('app')).state('count', 50))
      .use(a)
      .use(b)
}

describe('decorators and states of services that are put together', () => {
  for (const [how, compose] of Object.entries(COMPOSITIONS))
    it(`are their own: ${how}`, async () => {
      const [one, two] = [new Pool('orders'), new Pool('billing')]
      const { caller, service } = await started((main) =>
        compose(
          main,
          department('orders', one) as unknown as Part,
          department('billing', two) as unknown as Part
        )
      )
      assert.deepEqual(await caller.request('orders.ask'), ['orders', 'orders', 101])
      assert.deepEqual(await caller.request('billing.ask'), ['billing', 'billing', 101])
      assert.deepEqual(await caller.request('orders.ask'), ['orders', 'orders', 102])
      assert.deepEqual([one.opened, two.opened], [1, 1])
      await service.stop()
      assert.deepEqual([one.ended, two.ended], [1, 1])
    })

  it('are seen by a service that uses them, unless it has its own; of two, the first one', async () => {
    const orders = department('orders').decorate('only', 'of orders')
    const billing = department('billing').decorate('other', 7).state('rate', 7)
    const { caller } = await started((main) =>
      main
        .decorate('other', 'its own')
        .use(orders)
        .use(billing)
        .message('main', ({ pool, store, only, other }) => {
          expectTypeOf(pool).toEqualTypeOf<Pool>()
          expectTypeOf(other).toEqualTypeOf<string>()
          expectTypeOf(store.count).toEqualTypeOf<number>()
          return [pool.name, ++store.count, only, other, store.rate]
        })
    )
    assert.deepEqual(await caller.request('main'), ['orders', 101, 'of orders', 'its own', 7])
    assert.deepEqual(await caller.request('orders.ask'), ['orders', 'orders', 102])
    assert.deepEqual(await caller.request('billing.ask'), ['billing', 'billing', 101])
  })

  it('of services above are seen by used services', async () => {
    const auth = part().decorate('realm', 'shop').state('seen', 0)
    const orders = microservice<typeof auth>({ transport: memory() }).message('realm', ({ realm, store }) => [
      realm,
      ++store.seen
    ])
    const { caller } = await started((main) =>
      main
        .use(auth)
        .use(orders)
        .message('seen', ({ store }) => store.seen)
    )
    assert.deepEqual(await caller.request('realm'), ['shop', 1])
    assert.equal(await caller.request('seen'), 1)
  })

  it('stay in their group', async () => {
    const { caller } = await started((main) =>
      main
        .guard({}, (g) =>
          g
            .decorate('inside', 1)
            .state('n', 1)
            .message('in', ({ inside, store }) => [inside, store.n])
        )
        .state('m', 1)
        .message('out', (context) => [Reflect.get(context, 'inside') ?? null, Object.keys(context.store)])
    )
    assert.deepEqual(await caller.request('in'), [1, 1])
    assert.deepEqual(await caller.request('out'), [null, ['m']])
  })

  it('cannot be added twice by one service, with other values', () => {
    assert.throws(() => part().decorate('a', 1).decorate('a', 2), {
      code: 'OPTION',
      message: /decorator.*'a'/
    })
    assert.throws(() => part().state('a', 1).state({ a: 2 }), { code: 'OPTION', message: /store.*'a'/ })
    assert.throws(() => part().use(part().decorate('a', 1)).decorate('a', 2), {
      code: 'OPTION',
      message: /before/
    })
    assert.throws(() => part().use(part().state('a', 1)).state('a', 2), { code: 'OPTION', message: /before/ })
    part().decorate('a', 1).decorate('a', 1).state('a', 1).state('a', 1)
    assert.throws(() => part().use(new Elysia().decorate('data', 1)), OptionError)
  })
})

describe('services of one app', () => {
  it('keep their own states; the app sees those that it does not have itself', async () => {
    const transports = [memory(), memory()] as const
    const count = (at: 0 | 1) =>
      microservice({ transport: transports[at] })
        .state('count', at * 10)
        .message('count', ({ store }) => ++store.count)
    const [first, second] = [count(0), count(1)]
    const shared = new Elysia({ name: 'shared' }).state('hits', 0).decorate('db', 'postgres')
    const third = microservice({ transport: memory() }).use(shared)
    const app = new Elysia().use(shared).state('count', 50).use(first).use(second).use(third)
    const other = new Elysia().use(app)
    // Runs the start hooks as `app.listen` does, but without an HTTP server.
    for (const { fn } of other.event.start ?? []) await (fn as (app: unknown) => unknown)(other)
    for (const service of [first, second, third]) await cleanups.add(service).listen()
    const callers = transports.map((transport) => cleanups.add(connect({ transport }) as UntypedClient))
    assert.equal(await callers[0]!.request('count'), 1)
    assert.equal(await callers[1]!.request('count'), 11)
    assert.equal(await callers[0]!.request('count'), 2)
    assert.equal(other.store.count, 50)
  })

  it('share what an Elysia plugin has brought to the app and to the service', async () => {
    const transport = memory()
    const plugin = new Elysia({ name: 'plugin' }).state('hits', 0)
    const service = microservice({ transport })
      .use(plugin)
      .state('own', 1)
      .message('hit', ({ store }) => [++store.hits, ++store.own])
    const app = new Elysia().use(plugin).use(service)
    for (const { fn } of app.event.start ?? []) await (fn as (app: unknown) => unknown)(app)
    await cleanups.add(service).listen()
    const caller = cleanups.add(connect({ transport }) as UntypedClient)
    app.store.hits = 5
    assert.deepEqual(await caller.request('hit'), [6, 2])
    assert.equal(app.store.hits, 6)
    assert.equal((app.store as { own?: number }).own, 2)
    Object.assign(app.store, { own: 10 })
    assert.deepEqual(await caller.request('hit'), [7, 11])
  })
})

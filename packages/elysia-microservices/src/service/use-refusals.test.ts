/** Arguments of `use()`, `group()` and `guard()` of which a part would be lost: they are refused, with the cure. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Elysia, t } from 'elysia'
import { connect } from '../client/index.ts'
import { memory, microservice, OptionError } from '../index.ts'

const part = () => microservice({ transport: memory() }).message('x', () => 1)
type Any = ReturnType<typeof part> & {
  use(given: unknown): Any
  wrap(given: unknown): Any
  group(...given: unknown[]): Any
  guard(...given: unknown[]): Any
}
const service = () => microservice({ transport: memory() }) as unknown as Any

const refused = (words: RegExp) => (error: unknown) => {
  assert.ok(error instanceof OptionError, String(error))
  assert.match(error.message, words)
  return true
}

/** Elysia apps with parts that do nothing for messages. */
const APPS: Readonly<Record<string, object>> = {
  beforeHandle: new Elysia().onBeforeHandle({ as: 'global' }, () => {}),
  'a local hook': new Elysia().onBeforeHandle(() => {}),
  derive: new Elysia().derive({ as: 'global' }, () => ({})),
  resolve: new Elysia().resolve({ as: 'scoped' }, () => ({})),
  error: new Elysia().onError({ as: 'global' }, () => {}),
  request: new Elysia().onRequest(() => {}),
  stop: new Elysia().onStop(() => {}),
  'classes of errors': new Elysia().error({ GONE: class extends Error {} }),
  'schemas of a guard': new Elysia().guard({ as: 'scoped', headers: t.Object({ a: t.String() }) }),
  'standalone schemas': new Elysia().guard({
    as: 'global',
    schema: 'standalone',
    headers: t.Object({ a: t.String() })
  })
}

describe('use()', () => {
  for (const [what, app] of Object.entries(APPS))
    it(`refuses an Elysia app with ${what}, which would do nothing for messages`, () => {
      assert.throws(
        () => service().use(app),
        refused(/microservice\(…\)\.derive.*\.decorate\(app\.decorator\)/)
      )
    })

  it('takes an Elysia app with decorators, a store and routes, also one that runs a service', () => {
    service().use(
      new Elysia({ name: 'db' })
        .decorate('db', 1)
        .state('n', 1)
        .get('/', () => 1)
    )
    service().use(new Elysia().use(microservice({ transport: memory() })).decorate('db', 1))
  })

  it('refuses a function that makes a service and was not called', () => {
    const makeOrders = () => part()
    assert.throws(() => service().use(makeOrders), refused(/call it, use\(makeOrders\(\)\)/))
  })

  const MIDDLEWARE: Readonly<Record<string, (next: unknown) => unknown>> = {
    nothing: () => {},
    'a promise': async (next) => next,
    'a value': () => 7,
    'an object': () => ({})
  }
  for (const [what, middleware] of Object.entries(MIDDLEWARE))
    it(`wrap() refuses middleware that returns ${what}, at the start`, async () => {
      await assert.rejects(
        service().wrap(middleware).listen(),
        refused(/must return the function to call for each message/)
      )
      assert.throws(
        () =>
          service().use(
            service()
              .wrap(middleware)
              .message('y', () => 1)
          ),
        refused(/must return/)
      )
      assert.throws(
        () => connect({ transport: memory(), wrap: [middleware as never] }),
        refused(/must return/)
      )
    })

  it('calls a function with the service, as Elysia does, and refuses what does not return the service', async () => {
    const transport = memory()
    const plugged = microservice({ transport })
      .derive(() => ({ user: 'Ada' }))
      .use((chain) => chain.message('who', ({ user }) => user))
    await plugged.listen()
    const client = connect<typeof plugged>({ transport })
    assert.equal(await client.request('who'), 'Ada')
    await client.close()
    await plugged.stop()
    service().use((chain: Any) => void chain.message('y', () => 1))
    assert.throws(() => service().use(async (chain: Any) => chain), refused(/must not be asynchronous/))
    assert.throws(() => service().use((next: unknown) => () => next), refused(/is given to wrap\(\)/))
    assert.throws(() => service().use(() => 7), refused(/the service that the plugin was called with/))
  })

  it('refuses what is none of these', () => {
    for (const given of [undefined, null, 7, 'x', {}, Promise.resolve(part())])
      assert.throws(() => service().use(given), OptionError)
  })
})

describe('group() and guard()', () => {
  const calls: Readonly<Record<string, (define: unknown) => unknown>> = {
    group: (define) => service().group('g', define),
    guard: (define) => service().guard({}, define)
  }
  for (const [name, call] of Object.entries(calls)) {
    it(`${name}() refuses an asynchronous callback`, async () => {
      assert.throws(
        () => call(async (group: Any) => group.message('a', () => 1)),
        refused(/must not be asynchronous/)
      )
      // The callback's own failure is nobody's unhandled rejection.
      assert.throws(
        () =>
          call(async () => {
            throw new Error('later')
          }),
        refused(/must not be asynchronous/)
      )
      await new Promise((resolve) => setImmediate(resolve))
    })

    it(`${name}() refuses a callback that returns another service`, () => {
      assert.throws(() => call(() => part()), refused(/group\.use\(service\)/))
    })

    it(`${name}() takes a callback that returns nothing`, () => {
      call((group: Any) => void group.message('a', () => 1))
    })
  }
})

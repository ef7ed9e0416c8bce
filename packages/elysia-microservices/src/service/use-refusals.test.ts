/** Arguments of `use()`, `group()` and `guard()` of which a part would be lost: they are refused, with the cure. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Elysia, t } from 'elysia'
import { connect } from '../client/index.ts'
import { memory, microservice, OptionError } from '../index.ts'

const part = () => microservice({ transport: memory() }).message('x', () => 1)
type Any = ReturnType<typeof part> & {
  use(given: unknown): Any
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

  it('refuses a function that makes a service and was not called, at the start', async () => {
    const makeOrders = () => part()
    await assert.rejects(service().use(makeOrders).listen(), refused(/call it, use\(makeOrders\(\)\)/))
    assert.throws(
      () =>
        service().use(
          service()
            .use(makeOrders)
            .message('y', () => 1)
        ),
      refused(/call it/)
    )
  })

  const AROUNDS: Readonly<Record<string, (next: unknown) => unknown>> = {
    nothing: () => {},
    'a promise': async (next) => next,
    'a value': () => 7,
    'an object': () => ({})
  }
  for (const [what, around] of Object.entries(AROUNDS))
    it(`refuses an around that returns ${what}, at the start`, async () => {
      await assert.rejects(
        service().use(around).listen(),
        refused(/must return the function to call for each message/)
      )
      assert.throws(
        () =>
          service().use(
            service()
              .use(around)
              .message('y', () => 1)
          ),
        refused(/must return/)
      )
      assert.throws(() => connect({ transport: memory(), use: [around as never] }), refused(/must return/))
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

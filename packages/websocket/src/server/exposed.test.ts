/** Clients reach the handlers of exposed patterns, and no others, whatever they ask for. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Dispatcher, type Route, routeMatches } from '@elysia-microservices/transport/kit'
import fc from 'fast-check'
import { covers, Exposed, exposedRoutes } from './exposed.ts'

const dispatcherOf = (routes: readonly Route[]): Dispatcher => ({
  routes: () => routes,
  request: () => assert.fail(),
  event: () => assert.fail()
})
const messages = (...routes: (string | undefined)[]): Route[] =>
  routes.map((route) => ({ kind: 'message', route }))
const events = (...routes: string[]): Route[] => routes.map((route) => ({ kind: 'event', route }))

const request = (route: string | undefined) => ({ kind: 'request', route }) as const
const event = (route: string | undefined) => ({ kind: 'event', route }) as const

describe('a pattern that is exposed', () => {
  const cases: [exposed: string, route: string, isCovered: boolean][] = [
    ['shop.list', 'shop.list', true],
    ['shop.list', 'shop.lists', false],
    ['shop.*', 'shop.list', true],
    ['shop.*', 'shop.list.all', false],
    ['shop.*', 'shop', false],
    ['shop.>', 'shop.list.all', true],
    ['shop.*', 'shop.*', true],
    ['shop.*', 'shop.>', false],
    ['shop.>', 'shop.>', true],
    ['>', 'shop.>', true],
    ['>', '>', true],
    ['*', '>', false],
    ['shop.>', '>', false],
    ['*', '{"cmd":"sum"}', false],
    ['*.b', '>.b', false],
    ['>', '>.b', false],
    ['>', '{"a":"b.c"}', false],
    ['{"cmd":"sum"}', '{"cmd":"sum"}', true],
    ['>', 'elysia-microservices.describe', false],
    ['elysia-microservices.>', 'elysia-microservices.describe', false],
    ['elysia-microservices.describe', 'elysia-microservices.describe', true]
  ]
  for (const [exposed, route, isCovered] of cases)
    it(`'${exposed}' ${isCovered ? 'stands' : 'does not stand'} for a handler of '${route}'`, () =>
      assert.equal(covers(exposed, route), isCovered))
})

describe('a service of which a part is exposed', () => {
  it('takes requests by the most specific handler only if that is exposed', () => {
    const service = new Exposed(
      ['shop.*'],
      dispatcherOf(messages('shop.list', 'shop.secrets.all', 'internal', '{"a":1}', 'files.*'))
    )
    assert.deepEqual(service.routes, ['shop.list'])
    assert.equal(service.takes(request('shop.list')), true)
    for (const route of ['shop.nothing', 'shop.*', 'internal', '{"a":1}', 'files.x', '', undefined])
      assert.equal(service.takes(request(route)), false, route)
  })

  it('takes what a handler of wildcards takes, unless another one that is hidden might', () => {
    const open = new Exposed(['files.>'], dispatcherOf(messages('files.*', 'files.secret', 'other')))
    assert.equal(open.takes(request('files.a')), true)
    assert.equal(open.takes(request('files.a.b')), false)
    const hidden = new Exposed(['files.*'], dispatcherOf(messages('files.*', 'files.>', undefined)))
    assert.equal(hidden.takes(request('files.a')), false)
    assert.equal(hidden.takes(request('files.a.b')), false)
  })

  it('takes an event for a handler that is exposed, beside one that hears everything', () => {
    const service = new Exposed(
      ['shop.*'],
      dispatcherOf([...events('shop.viewed', '>'), ...messages('shop.list')])
    )
    assert.equal(service.takes(event('shop.viewed')), true)
    assert.equal(service.takes(event('internal')), false)
    assert.equal(service.takes(event('shop.other')), false)
    const all = new Exposed(['shop.*'], dispatcherOf(events('shop.*', '>')))
    assert.equal(all.takes(event('shop.other')), true)
    assert.equal(all.takes(request('shop.other')), false)
  })

  it('takes nothing that no pattern stands for, whatever is asked for', () => {
    const segment = fc.constantFrom('a', 'b', '*', '>', '')
    const route = fc.array(segment, { minLength: 1, maxLength: 3 }).map((parts) => parts.join('.'))
    fc.assert(
      fc.property(
        fc.array(route, { minLength: 1, maxLength: 3 }),
        fc.array(route, { maxLength: 4 }),
        route,
        (exposed, handlers, asked) => {
          const service = new Exposed(exposed, dispatcherOf(messages(...handlers)))
          if (!service.takes(request(asked))) return
          assert.ok(exposed.some((pattern) => pattern === asked || routeMatches(pattern, asked)))
          assert.ok(handlers.some((handler) => handler === asked || routeMatches(handler, asked)))
        }
      )
    )
  })
})

describe('the option', () => {
  it('has texts, numbers and objects', () => {
    assert.deepEqual(exposedRoutes(['a', 7, { b: 1, a: 2 }]), ['a', '7', '{"a":2,"b":1}'])
    for (const wrong of [undefined, [], 'a', {}, null])
      assert.throws(() => exposedRoutes(wrong), { name: 'OptionError', path: 'options.expose' })
    for (const wrong of [/a/, null, undefined, true, '>.a', 'a.>.b'])
      assert.throws(() => exposedRoutes(['a', wrong]), { path: 'options.expose[1]' })
  })
})

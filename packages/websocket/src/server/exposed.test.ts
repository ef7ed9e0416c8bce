/** Clients reach the handlers of exposed patterns, and no others, whatever they ask for. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { runs } from '@elysia-microservices/test-support'
import {
  type Dispatcher,
  type IncomingMessage,
  type Route,
  routeMatches,
  type Transport
} from '@elysia-microservices/transport/kit'
import { memory, microservice } from 'elysia-microservices'
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

/** The handlers that a service runs, by the pattern and the kind with which they were registered. */
type Ran = readonly [kind: 'message' | 'event', pattern: string | RegExp]

/** The dispatcher of a real service whose handlers note that they run. */
async function dispatcherOfService(handlers: readonly Ran[], ran: Ran[]): Promise<Dispatcher> {
  let dispatcher: Dispatcher | undefined
  const transport: Transport = {
    ...memory(),
    server: () => ({
      name: 'test',
      async start(given) {
        dispatcher = given
      },
      stop: async () => {},
      stats: () => ({
        transport: 'test',
        address: undefined,
        inFlight: { current: 0, limit: false as const },
        streams: 0
      })
    })
  }
  const service = microservice({ transport, logger: { error() {}, warn() {} } })
  const patterns = new Set<string>()
  for (const one of handlers) {
    const [kind, pattern] = one
    if (kind === 'event') service.event(pattern, () => void ran.push(one))
    else if (!patterns.has(String(pattern))) {
      patterns.add(String(pattern))
      service.message(pattern, () => ran.push(one))
    }
  }
  await service.listen()
  return dispatcher as Dispatcher
}

const received = (kind: 'request' | 'event', route: string) =>
  ({
    kind,
    route,
    pattern: route,
    transport: 'test',
    data: undefined,
    headers: {}
  }) as never as IncomingMessage

/** Whether a service behind a door takes a message, and which handlers have run then. */
async function runOf(exposed: string[], handlers: readonly Ran[], kind: 'request' | 'event', route: string) {
  const ran: Ran[] = []
  const service = new Exposed(exposed, await dispatcherOfService(handlers, ran))
  const isTaken = service.takes({ kind, route })
  // A request that no handler takes is answered by an error, which is right.
  if (isTaken) await (async () => service.dispatcher[kind](received(kind, route)))().catch(() => {})
  return { isTaken, ran }
}

describe('what is exposed is a handler of one kind', () => {
  const secrets: (string | RegExp)[] = ['>', 'shop.>', 'shop.*', /^shop/, /.*/]
  for (const secret of secrets)
    for (const [kind, other] of [
      ['message', 'event'],
      ['event', 'message']
    ] as const)
      it(`so a name exposed as ${kind} does not open a hidden ${other} handler of ${secret}`, async () => {
        const handlers: Ran[] = [
          [kind, 'shop.seen'],
          [other, secret]
        ]
        for (const asked of ['request', 'event'] as const) {
          const { ran } = await runOf(['shop.seen'], handlers, asked, 'shop.seen')
          assert.deepEqual(
            ran.filter(([, pattern]) => pattern === secret),
            []
          )
        }
      })

  it('and a RegExp is hidden also where all patterns are exposed', async () => {
    const handlers: Ran[] = [
      ['message', '>'],
      ['message', /^admin/],
      ['message', 'shop.*'],
      ['message', /^shop/]
    ]
    assert.deepEqual((await runOf(['>'], handlers, 'request', 'admin')).ran, [])
    assert.deepEqual((await runOf(['>'], handlers, 'request', 'shop.')).ran, [])
    assert.deepEqual((await runOf(['>'], handlers, 'request', 'other')).ran, [['message', '>']])
    assert.deepEqual((await runOf(['>'], handlers, 'request', 'shop.a')).ran, [['message', 'shop.*']])
  })

  it('whatever handlers there are and whatever is exposed and asked for', async () => {
    const segment = fc.constantFrom('a', 'b', '*', '')
    const route = fc
      .tuple(fc.array(segment, { minLength: 1, maxLength: 3 }), fc.boolean())
      .map(([parts, isOpen]) => [...parts, ...(isOpen ? ['>'] : [])].join('.'))
    const pattern = fc.oneof({ weight: 6, arbitrary: route }, fc.constantFrom('>', /^a/, /b$/, /./))
    const handler = fc.tuple(fc.constantFrom('message' as const, 'event' as const), pattern)
    let taken = 0
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.oneof(route, fc.constant('>')), { minLength: 1, maxLength: 2 }),
        fc.array(handler, { maxLength: 5 }),
        fc.constantFrom('request' as const, 'event' as const),
        fc
          .array(fc.constantFrom('a', 'b', ''), { minLength: 1, maxLength: 3 })
          .map((parts) => parts.join('.')),
        async (exposed, handlers, kind, asked) => {
          const { isTaken, ran } = await runOf(exposed, handlers, kind, asked)
          if (isTaken) taken++
          const isOpen = ([, one]: Ran) =>
            typeof one === 'string' && exposed.some((each) => covers(each, one))
          // An event goes to all of its handlers as soon as one of them is exposed.
          if (ran.length > 0 && ran.every(([ofKind]) => kind === 'event' && ofKind === 'event'))
            assert.ok(ran.some(isOpen))
          else assert.ok(ran.every(isOpen))
        }
      ),
      { numRuns: runs(2_000) }
    )
    assert.ok(taken > runs(50))
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

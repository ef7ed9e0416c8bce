import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { CallRate, GroupView, Link, Overview, ServiceView, TracesView } from '../../protocol.ts'
import { type History, withSample } from '../history.ts'
import { graphOf, MAX_EDGES, MAX_NODES } from './model.ts'

const service = (name: string, more: Partial<ServiceView> = {}): ServiceView => ({
  id: name,
  service: name,
  described: { name, version: '', status: 'listening', isCounted: false, patterns: [], leftOut: [] },
  ...more
})
const overview = (...services: ServiceView[]): Overview => ({ canTry: false, interval: 1_000, services })
const call = (caller: string | undefined, pattern: string, more: Partial<CallRate> = {}): CallRate => ({
  from: caller === undefined ? 'nest' : 'client',
  ...(caller !== undefined && { caller }),
  kind: 'message',
  transport: 'tcp',
  pattern,
  rate: 10,
  errors: 0,
  ms: 2,
  ...more
})
const histories = (calls: Readonly<Record<string, CallRate[]>>, transport = 'tcp') =>
  withSample(new Map<string, History>(), {
    at: 1_000,
    services: Object.fromEntries(
      Object.entries(calls).map(([id, calls]) => [
        id,
        { transports: [{ name: transport, gauges: [], durable: [] }], outboxes: [], rows: [], calls }
      ])
    )
  })
const traces = (...links: Link[]): TracesView => ({ kept: 0, dropped: 0, latest: [], links })
const lines = ({ edges }: ReturnType<typeof graphOf>) =>
  edges.map(({ from, to, kind, rate }) => `${from} > ${to} ${kind} ${rate}`)

describe('the map', () => {
  it('has a line for everything that one calls of another, with its patterns', () => {
    const graph = graphOf(
      overview(service('orders'), service('stock')),
      histories({
        orders: [call('web', 'orders.place'), call(undefined, 'orders.place', { rate: 1 })],
        stock: [call('orders', 'a', { rate: 1, ms: 10, errors: 1 }), call('orders', 'b', { rate: 3 })]
      })
    )
    assert.deepEqual(lines(graph), [
      'caller web > service orders message 10',
      'service orders > service stock message 4',
      'caller Nest clients > service orders message 1'
    ])
    const [, edge] = graph.edges
    assert.deepEqual([edge?.errors, edge?.ms, edge?.parts.map(({ pattern }) => pattern)], [1, 4, ['b', 'a']])
  })

  it('has an arrow from the relay of an outbox to its engine, unless its spans have drawn it', () => {
    const outbox = { schema: 'shop', pending: 0, oldest: 0, failed: 0, published: 9, retries: 0, rate: 3 }
    const outboxes = [
      { ...outbox, service: 'orders', engine: 'nats' },
      { ...outbox, service: 'gone', engine: 'nats' },
      { ...outbox, service: 'orders' }
    ]
    const drawn = (...links: Link[]) =>
      graphOf(overview(service('orders')), new Map(), {
        traces: traces(...links),
        events: { groups: [], stores: [], outboxes }
      })
    assert.deepEqual(lines(drawn()), ['service orders > engine nats event 3'])
    assert.deepEqual(
      drawn().edges[0]?.parts.map(({ pattern }) => pattern),
      ['outbox shop']
    )
    const link = {
      from: 'orders',
      kind: 'event',
      transport: 'nats',
      pattern: 'a',
      rate: 1,
      errors: 0,
      ms: 1
    } as const
    assert.deepEqual(lines(drawn(link)), ['service orders > engine nats event 1'])
  })

  it('has engines, and events from and to them', () => {
    const graph = graphOf(
      overview(service('mail')),
      histories(
        { mail: [call(undefined, 'placed', { from: 'engine', kind: 'event', transport: 'nats' })] },
        'nats'
      ),
      {
        traces: traces({
          ...{ from: 'orders', kind: 'event', transport: 'nats', pattern: 'placed' },
          ...{ rate: 2, errors: 0, ms: 1 }
        })
      }
    )
    assert.deepEqual(lines(graph), [
      'engine nats > service mail event 10',
      'caller orders > engine nats event 2'
    ])
  })

  it('shows that an engine cannot be reached, by the key of its alert', () => {
    const told = histories({ mail: [] }, 'nats')
    const engine = (problems: Set<string>) =>
      graphOf(overview(service('mail')), told, { problems }).nodes.find(({ kind }) => kind === 'engine')
    assert.deepEqual([engine(new Set())?.state, engine(new Set())?.note], ['good', 'engine'])
    const lost = engine(new Set(['engine nats']))
    assert.deepEqual([lost?.state, lost?.note], ['bad', 'lost'])
  })

  it('takes from spans what services do not say themselves, and nothing twice', () => {
    const link = { kind: 'message', transport: 'tcp', pattern: 'x', rate: 5, errors: 0, ms: 1 } as const
    const { described: _, ...silent } = service('payments', {
      problem: 'The service does not describe itself'
    })
    const graph = graphOf(overview(service('orders'), silent), histories({ orders: [call('web', 'x')] }), {
      traces: traces({ ...link, from: 'web', to: 'orders' }, { ...link, from: 'orders', to: 'payments' })
    })
    assert.deepEqual(lines(graph), [
      'caller web > service orders message 10',
      'service orders > service payments message 5'
    ])
    assert.deepEqual(
      graph.nodes.map(({ name, state }) => [name, state]),
      [
        ['orders', 'good'],
        ['payments', 'odd'],
        ['web', 'good']
      ]
    )
  })

  it('keeps the line to a service that is not reached, red, with its reason', () => {
    const prices = service('prices', { problem: 'gone' })
    const told = histories({
      prices: [call('orders', 'prices.quote')],
      orders: [call('web', 'orders.place')]
    })
    const { edges } = graphOf(overview(service('orders'), prices), told)
    const broken = (of: typeof edges) =>
      of.flatMap(({ from, to, problem }) => (problem === undefined ? [] : [[from, to, problem]]))
    assert.deepEqual(broken(edges), [['service orders', 'service prices', 'prices is not reached']])
    assert.deepEqual(
      edges.find(({ to }) => to === 'service prices')?.parts[0]?.problem,
      'prices is not reached'
    )

    const patterns = [{ kind: 'message', form: 'exact', pattern: 'prices.quote', hooks: [] } as const]
    const described = { ...prices, described: { ...prices.described!, patterns } }
    const link: Link = {
      from: 'orders',
      unheard: { problem: 'CONNECTION: refused' },
      kind: 'message',
      transport: 'tcp',
      pattern: 'prices.quote',
      rate: 2,
      errors: 2,
      ms: 1
    }
    const opened = graphOf(overview(service('orders'), described), new Map(), { traces: traces(link) })
    assert.deepEqual(broken(opened.edges), [['service orders', 'service prices', 'CONNECTION: refused']])
    assert.equal(opened.edges[0]?.errors, 2)
  })

  it('has peers that do not describe themselves, and pages', () => {
    const link = { kind: 'message', transport: 'tcp', pattern: 'sum', rate: 5, errors: 0, ms: 1 } as const
    const graph = graphOf(
      overview(service('orders')),
      histories({ orders: [call(undefined, 'x', { from: 'unnamed', transport: 'websocket' })] }),
      {
        traces: traces(
          { ...link, from: 'orders', unheard: { name: '10.0.0.7:3001' } },
          { ...link, from: 'orders', unheard: {} }
        )
      }
    )
    assert.deepEqual(
      graph.nodes.map(({ name, note }) => [name, note]),
      [
        ['orders', 'service'],
        ['Browser pages', 'client'],
        ['10.0.0.7:3001', 'not described'],
        ['Other services over tcp', 'not described']
      ]
    )
  })

  it('has the line from an engine to the groups of a service, also if nothing came since the page was opened', () => {
    const mail = service('mail', { problem: 'gone', isSilent: true })
    const handler = { services: ['mail'], triedAgain: 0, died: 0, isPaused: false }
    const group = (engine: string, ...patterns: string[]): GroupView => ({
      ...{ engine, group: 'mail', service: 'mail', processes: 1, notReached: 1 },
      handlers: patterns.map((pattern) => ({ ...handler, pattern }))
    })
    const groups = [group('nats', 'placed', 'paid'), group('memory', 'direct')]
    const graph = graphOf(overview(mail), new Map(), { events: { groups, stores: [], outboxes: [] } })
    assert.deepEqual(lines(graph), ['engine nats > service mail event 0'])
    assert.deepEqual(
      graph.edges[0]?.parts.map(({ pattern, problem }) => `${pattern}: ${problem}`),
      ['paid: mail is not reached', 'placed: mail is not reached']
    )
  })

  it('has the calls that fail on the line to a service that is not reached, whatever their error is', () => {
    const told = histories({ prices: [call('orders', 'prices.quote')] }, 'nats')
    const link = {
      kind: 'message',
      transport: 'tcp',
      pattern: 'prices.quote',
      rate: 4,
      errors: 4,
      ms: 1
    } as const
    const edgeTo = (prices: ServiceView) =>
      graphOf(overview(service('orders'), prices), told, {
        traces: traces({ ...link, from: 'orders', to: 'prices', unheard: {} })
      }).edges[0]
    const broken = edgeTo(service('prices', { problem: 'gone' }))
    assert.deepEqual(
      [broken?.rate, broken?.errors, broken?.problem, broken?.parts.length],
      [4, 4, 'prices is not reached', 1]
    )
    const alive = edgeTo(service('prices'))
    assert.deepEqual([alive?.rate, alive?.errors, alive?.problem], [10, 0, undefined])
  })

  it('is one box for a process, whatever its clients are called, and counts its calls once', () => {
    const inProcess = (name: string, process: string, ...clients: string[]) => {
      const view = service(name)
      return { ...view, described: { ...view.described!, process: { name: process, clients } } }
    }
    const stock = inProcess('stock', 'stock')
    const told = histories({ stock: [call('till', 'take')] })
    const link = { kind: 'message', transport: 'tcp', pattern: 'take', rate: 5, errors: 0, ms: 1 } as const
    const drawn = (...services: ServiceView[]) =>
      graphOf(overview(stock, ...services), told, { traces: traces({ ...link, from: 'shop', to: 'stock' }) })
    const one = drawn(inProcess('shop', 'shop', 'till'))
    assert.deepEqual(lines(one), ['service shop > service stock message 10'])
    assert.deepEqual(one.merged, ['caller till'])
    // Where a process has two services, and where two processes have such a client, it is a box of its own.
    for (const [other, process] of [
      ['back office', 'shop'],
      ['mall', 'mall']
    ] as const) {
      const apart = drawn(inProcess('shop', 'shop', 'till'), inProcess(other, process, 'till'))
      assert.deepEqual(lines(apart), ['caller till > service stock message 10'])
    }
  })

  it('shows the service that has handled a message, where a process has several', () => {
    const patterns = [{ kind: 'message', form: 'exact', pattern: 'take', hooks: [] } as const]
    const back = service('back office')
    const described = { ...back.described!, process: { name: 'shop', clients: [] }, patterns }
    const link = { kind: 'message', transport: 'tcp', pattern: 'take', rate: 5, errors: 0, ms: 1 } as const
    const graph = graphOf(
      overview(service('shop'), { ...back, described }),
      histories({ 'back office': [call('web', 'take')] }),
      { traces: traces({ ...link, from: 'web', to: 'shop' }) }
    )
    assert.deepEqual(lines(graph), ['caller web > service back office message 10'])
  })

  it('is one box for all instances of a service', () => {
    const graph = graphOf(
      overview(service('a'), service('a', { id: 'a 2', problem: 'gone' })),
      histories({ a: [call('web', 'x')], 'a 2': [call('web', 'x')] })
    )
    assert.deepEqual(lines(graph), ['caller web > service a message 10'])
    assert.equal(graph.nodes[0]?.note, '1 of 2 not reached')
  })

  it('says what it leaves out of ten thousand', () => {
    const many = Array.from({ length: 10_000 }, (_, n) => `${'<b>'.repeat(30)}\u202e${n}`)
    const graph = graphOf(
      overview(...many.map((name) => service(name))),
      histories({ [many[0]!]: many.map((name) => call(name, 'x')) })
    )
    assert.equal(graph.nodes.length, MAX_NODES)
    assert.ok(graph.edges.length <= MAX_EDGES)
    assert.ok(graph.leftOut > 9_000)
  })
})

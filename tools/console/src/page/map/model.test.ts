import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { CallRate, Link, Overview, ServiceView, TracesView } from '../../protocol.ts'
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
      graphOf(overview(service('orders')), new Map(), traces(...links), new Set(), outboxes)
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
      traces({
        from: 'orders',
        kind: 'event',
        transport: 'nats',
        pattern: 'placed',
        rate: 2,
        errors: 0,
        ms: 1
      })
    )
    assert.deepEqual(lines(graph), [
      'engine nats > service mail event 10',
      'caller orders > engine nats event 2'
    ])
  })

  it('shows that an engine cannot be reached, by the key of its alert', () => {
    const told = histories({ mail: [] }, 'nats')
    const engine = (problems: Set<string>) =>
      graphOf(overview(service('mail')), told, undefined, problems).nodes.find(
        ({ kind }) => kind === 'engine'
      )
    assert.deepEqual([engine(new Set())?.state, engine(new Set())?.note], ['good', 'engine'])
    const lost = engine(new Set(['engine nats']))
    assert.deepEqual([lost?.state, lost?.note], ['bad', 'lost'])
  })

  it('takes from spans what services do not say themselves, and nothing twice', () => {
    const link = { kind: 'message', transport: 'tcp', pattern: 'x', rate: 5, errors: 0, ms: 1 } as const
    const { described: _, ...silent } = service('payments', {
      problem: 'The service does not describe itself'
    })
    const graph = graphOf(
      overview(service('orders'), silent),
      histories({ orders: [call('web', 'x')] }),
      traces({ ...link, from: 'web', to: 'orders' }, { ...link, from: 'orders', to: 'payments' })
    )
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
    const opened = graphOf(overview(service('orders'), described), new Map(), traces(link))
    assert.deepEqual(broken(opened.edges), [['service orders', 'service prices', 'CONNECTION: refused']])
    assert.equal(opened.edges[0]?.errors, 2)
  })

  it('has peers that do not describe themselves, and pages', () => {
    const link = { kind: 'message', transport: 'tcp', pattern: 'sum', rate: 5, errors: 0, ms: 1 } as const
    const graph = graphOf(
      overview(service('orders')),
      histories({ orders: [call(undefined, 'x', { from: 'unnamed', transport: 'websocket' })] }),
      traces(
        { ...link, from: 'orders', unheard: { name: '10.0.0.7:3001' } },
        { ...link, from: 'orders', unheard: {} }
      )
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

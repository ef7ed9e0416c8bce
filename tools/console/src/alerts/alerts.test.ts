import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { GroupHandler, GroupView, ServiceView } from '../protocol.ts'
import { alertsOf, type Board, NO_ALERTS, nextBoard } from './board.ts'
import { type Condition, dead, engines, refused, silent, type Watched } from './conditions.ts'
import { failing, lagging, NO_TRENDS, nextTrends, stuck, type Trends } from './trends.ts'

const watched = (more: Partial<Watched> = {}): Watched => ({
  at: 0,
  services: [],
  told: [],
  groups: [],
  outboxes: [],
  ...more
})
const view = (id: string, more: Partial<ServiceView> = {}): ServiceView => ({
  id,
  service: 'orders',
  ...more
})
const group = (handler: Partial<GroupHandler> = {}, more: Partial<GroupView> = {}): GroupView => ({
  engine: 'nats',
  group: 'billing',
  service: 'billing',
  processes: 1,
  notReached: 0,
  handlers: [{ pattern: 'paid', services: [], triedAgain: 0, died: 0, isPaused: false, ...handler }],
  ...more
})
const titles = (conditions: readonly { readonly title: string }[]) => conditions.map(({ title }) => title)

describe('conditions', () => {
  it('tell a service that does not answer from one of its processes', () => {
    const away = { isSilent: true as const, problem: 'The service cannot be reached' }
    assert.deepEqual(titles(silent(watched({ services: [view('a', away), view('b', away)] }))), [
      'orders does not answer'
    ])
    assert.deepEqual(
      titles(silent(watched({ services: [view('a', { ...away, instance: 'x' }), view('b')] }))),
      ['A process of orders does not answer']
    )
    assert.deepEqual(
      silent(watched({ services: [view('a', { problem: 'The service does not describe itself' })] })),
      []
    )
  })

  it('name an engine once, with all who miss it', () => {
    const sample = {
      transports: [{ name: 'nats', gauges: [], durable: [], unavailable: 'connection lost' }],
      outboxes: [],
      rows: [],
      calls: []
    }
    const told = ['a', 'b', 'c'].map((service) => ({ view: { id: service, service }, sample }))
    const [only, ...others] = engines(watched({ told, groups: [group({ unavailable: 'no stream' })] }))
    assert.deepEqual(
      [only?.title, only?.detail, others],
      ['nats cannot be reached', 'For a, b and 2 others: connection lost', []]
    )
  })

  it('say of what only a lost engine leads to that the engine is not there, and nothing of the service', () => {
    const sample = {
      transports: ['tcp', 'nats'].map((name) => ({ name, gauges: [], durable: [] })),
      outboxes: [],
      rows: [],
      calls: []
    }
    const away = { isSilent: true as const, isCutOff: true as const, problem: 'No connection to NATS' }
    const services = [view('a', away), view('b', { ...away, service: 'stock' })]
    const told = [
      { view: services[0]!, sample },
      { view: services[1]!, sample }
    ]
    assert.deepEqual(silent(watched({ services, told })), [])
    const [only, ...others] = engines(watched({ services, told }))
    assert.deepEqual(
      [only?.title, only?.detail, others],
      ['nats cannot be reached', 'For orders and stock: No connection to NATS', []]
    )
    // Before the service has answered for the first time, it is unknown that it uses an engine.
    assert.deepEqual(titles(silent(watched({ services }))), [
      'orders does not answer',
      'stock does not answer'
    ])
  })

  it('tell of dead letters that the console cannot read, as the processes have counted them', () => {
    const unknown = { deadUnknown: 'RabbitMQ cannot show them' }
    const groups = [group({ died: 2 }, unknown), group({ died: 0 }, { ...unknown, group: 'mail' })]
    const [only, ...others] = dead(watched({ groups }))
    assert.deepEqual([only?.title, others], ['billing has had 2 dead letters', []])
    assert.match(only?.detail ?? '', /cannot say whether they are still there. RabbitMQ cannot show them$/)
  })

  it('count dead letters and events that were refused', () => {
    const groups = [group({}, { dead: 1 }), group({}, { group: 'mail', dead: 101 }), group()]
    assert.deepEqual(titles(dead(watched({ groups }))), [
      'billing has 1 dead letter',
      'mail has more than 100 dead letters'
    ])
    const outbox = { service: 'orders', schema: 's', pending: 3, published: 0, retries: 0, rate: 0 }
    const outboxes = [
      { ...outbox, oldest: 0, failed: 2 },
      { ...outbox, oldest: 60_000, failed: 0 }
    ]
    assert.deepEqual(titles(refused(watched({ outboxes }))), ['2 events of the outbox s were refused'])
    assert.deepEqual(titles(stuck(watched({ outboxes }))), ['3 events of the outbox s wait to be published'])
    const away = outboxes.map((each) => ({ ...each, isSilent: true as const }))
    assert.deepEqual(stuck(watched({ outboxes: away })), [], 'nobody knows whether they still wait')
  })

  it('are one for an outbox whatever process tells of it, and another for that of another service', () => {
    const services = [
      view('a 1', { service: 'a' }),
      view('a 2', { service: 'a' }),
      view('b', { service: 'b' })
    ]
    const outboxes = services.map(({ id }) => ({
      ...{ service: id, schema: 's', pending: 3, published: 0, retries: 0, rate: 0 },
      ...{ oldest: 60_000, failed: 2 }
    }))
    for (const found of [refused, stuck])
      assert.equal(new Set(found(watched({ services, outboxes })).map(({ key }) => key)).size, 2)
  })
})

describe('trends', () => {
  const told = (rate: number, failures: number) => [
    {
      view: view('a'),
      sample: {
        transports: [],
        outboxes: [],
        rows: [],
        calls: [],
        total: { rate, failures, errors: failures, inFlight: 0 }
      }
    }
  ]
  const run = (from: Trends, at: number, seconds: number, moment: (at: number) => Partial<Watched>) => {
    let trends = from
    for (let n = 1; n <= seconds; n++)
      trends = nextTrends(trends, watched({ at: at + n * 1_000, ...moment(at + n * 1_000) }))
    return trends
  }

  it('tell of failures that are a share of what is handled, until there are few', () => {
    let trends = run(NO_TRENDS, 0, 20, () => ({ told: told(100, 1) }))
    assert.deepEqual(failing(trends), [])
    trends = run(trends, 20_000, 20, () => ({ told: told(100, 20) }))
    assert.match(titles(failing(trends))[0] ?? '', /^1\d % of the messages of a fail$/)
    trends = run(trends, 40_000, 10, () => ({ told: told(100, 3) }))
    assert.equal(failing(trends).length, 1, 'still more than a few')
    trends = run(trends, 50_000, 60, () => ({ told: told(100, 0) }))
    assert.deepEqual(failing(trends), [])
    assert.deepEqual(failing(run(NO_TRENDS, 0, 2, () => ({ told: told(1, 1) }))), [], 'two are no share')
  })

  it('tell of what waits more and more', () => {
    const growing = (at: number) => ({ groups: [group({ waits: at / 50 })] })
    let trends = run(NO_TRENDS, 0, 20, growing)
    assert.deepEqual(lagging(trends, watched({ at: 20_000, ...growing(20_000) })), [])
    trends = run(trends, 20_000, 20, growing)
    const [only] = lagging(trends, watched({ at: 40_000, ...growing(40_000) }))
    assert.deepEqual(
      [only?.title, only?.detail],
      ['800 events wait for billing', 'paid: 600 events more than 30 s ago.']
    )
    const steady = () => ({ groups: [group({ waits: 800 })] })
    trends = run(trends, 40_000, 40, steady)
    assert.deepEqual(lagging(trends, watched({ at: 80_000, ...steady() })), [])
    assert.equal(trends.growths.get('nats billing paid')?.length, 31, 'no more is remembered')
  })

  it('begin again where nobody watched', () => {
    const trends = run(NO_TRENDS, 0, 20, () => ({ told: told(100, 50) }))
    const later = nextTrends(trends, watched({ at: 3_600_000, told: told(100, 50) }))
    assert.deepEqual(failing(later).length, 1)
    assert.equal(failing(nextTrends(trends, watched({ at: 3_600_000, told: told(10, 0) }))).length, 0)
  })
})

describe('the board', () => {
  const condition: Condition = {
    key: 'k',
    kind: 'silent',
    title: 't',
    detail: '',
    advice: '',
    place: []
  }
  const run = (board: Board, from: number, moments: readonly boolean[]) =>
    moments.reduce((each, isThere, n) => nextBoard(each, isThere ? [condition] : [], from + n * 1_000), board)

  it('has an alert when its condition has lasted, and not for a moment', () => {
    assert.deepEqual(alertsOf(run(NO_ALERTS, 0, [true, true, false, true, true])), [])
    const board = run(NO_ALERTS, 0, [true, true, true, true, true])
    assert.deepEqual(alertsOf(board), [{ ...condition, since: 0 }])
  })

  it('keeps an alert that is away for a moment, and remembers one that is over', () => {
    const lasting = run(NO_ALERTS, 0, [true, true, true, true, true])
    const flickering = run(lasting, 5_000, [false, true, false])
    assert.deepEqual(alertsOf(flickering), [{ ...condition, since: 0 }])
    const over = run(flickering, 8_000, [false, false])
    assert.deepEqual([alertsOf(over), over.past], [[], [{ ...condition, since: 0, until: 6_000 }]])
  })

  it('bounds what it shows and remembers', () => {
    const many = Array.from(
      { length: 1_000 },
      (_, n): Condition => ({ ...condition, kind: 'dead', key: `${n}` })
    )
    const board = nextBoard(NO_ALERTS, many, 0)
    assert.equal(alertsOf(board).length, 200)
    assert.equal(nextBoard(board, [], 1_000).past.length, 50)
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ConsumerInit } from '@elysia-microservices/engine'
import type { DatabaseSql } from '@elysia-microservices/outbox/database'
import {
  type Delivery,
  Discard,
  type DurableOptions,
  durableSettings,
  type IncomingMessage,
  RetryLater
} from '@elysia-microservices/transport/kit'
import { OverTables, takenRow } from '../testing/fake-tables.ts'
import { PostgresConsumer } from './consumer.ts'
import { Transactions } from './transactions.ts'

/** A handler that runs until the test says how it ends, over tables that have these events for it. */
class Handler {
  readonly over: OverTables
  readonly consumer: PostgresConsumer
  readonly begun: string[] = []
  readonly transactions: Transactions<DatabaseSql>
  readonly deliveries = new Map<string, Delivery>()
  readonly #ends = new Map<string, (error?: unknown) => void>()

  constructor(durable: DurableOptions = {}, over = new OverTables(), pattern = 'p') {
    this.over = over
    const settings = durableSettings(durable)
    over.tables.joined.ordered = settings.ordered
    const init = {
      dispatcher: { event: (message: IncomingMessage) => this.#run(message) },
      route: { route: pattern, durable: settings },
      ...{ pattern, group: 'g', via: 'v', logger: over.logger }
    }
    this.transactions = new Transactions(over.options.sql, over.options.schema)
    this.consumer = new PostgresConsumer(
      init as unknown as ConsumerInit,
      over.options,
      over.turns,
      this.transactions,
      over.clock
    )
    this.consumer.begin()
  }

  #run({ delivery }: IncomingMessage): Promise<void> {
    const id = delivery?.id as string
    this.deliveries.set(id, delivery as Delivery)
    this.begun.push(`${id} ${delivery?.attempt}`)
    return new Promise((resolve, reject) => {
      this.#ends.set(id, (error) => (error === undefined ? resolve() : reject(error)))
    })
  }

  /** Starts, or goes on, with further events of one batch. */
  async get(...rows: Parameters<typeof takenRow>[0][]): Promise<this> {
    const numbered = rows.map((row, at) => takenRow({ position: String(at + 1), ...row }))
    this.over.tables.answers.push({ taken: numbered })
    if (this.over.tables.joins.length === 0) await this.consumer.start(this.over.connection)
    else this.over.turns.wake()
    await this.over.settled()
    return this
  }

  async end(id: string, error?: unknown): Promise<void> {
    this.#ends.get(id)?.(error)
    await this.over.settled()
  }

  /** The number of events that the latest turn has asked for. */
  get wanted(): number | undefined {
    return this.over.tables.turns.at(-1)?.wanted[0]?.most
  }

  /** Each event that was given back: position, runs that have begun, milliseconds. */
  get back(): unknown[] {
    return this.over.written.flatMap(({ back }) =>
      back.map(({ position, attempt, delay }) => [position, attempt, delay])
    )
  }

  get dead(): Partial<Record<'id' | 'reason' | 'attempt', unknown>>[] {
    return this.over.written.flatMap(({ dead }) => [...dead])
  }
}

describe('a durable handler over PostgreSQL', () => {
  it('asks for as many events as begin at once', async () => {
    const handler = await new Handler({ concurrency: 3 }).get({ id: 'a' }, { id: 'b' })
    assert.equal(handler.over.tables.turns[0]?.wanted[0]?.most, 3)
    assert.deepEqual([handler.wanted, handler.consumer.running], [1, 2])
    await handler.end('a')
    await handler.end('b')
    assert.deepEqual([handler.wanted, handler.consumer.running], [3, 0])
  })

  it('that is quick asks for half of what it handles in a moment, but of those that come back for what begins at once', async () => {
    const handler = new Handler({ concurrency: 3 })
    for (let n = 0; n < 60; n++) {
      await handler.get({ id: 'a', position: String(n) })
      await handler.end('a')
    }
    const [wanted] = handler.over.tables.turns.at(-1)?.wanted ?? []
    assert.deepEqual([wanted?.most, wanted?.back], [502, 3])
    const slow = await new Handler({ concurrency: 3 }).get({ id: 'a' })
    for (let n = 0; n < 60; n++) {
      await slow.over.clock.advance(100)
      await slow.end('a')
      await slow.get({ id: 'a', position: String(n) })
    }
    assert.equal(slow.wanted, 2)
  })

  it('whose events take two moments has as many on their way as begin in one', async () => {
    const handler = await new Handler({ concurrency: 4 }).get({ id: 'a' })
    for (let n = 0; n < 60; n++) {
      await handler.over.clock.advance(40)
      await handler.end('a')
      await handler.get({ id: 'a', position: String(n) })
    }
    // Two begin within a moment; one of the six is here, and no more than begin at once come with one turn.
    assert.equal(handler.wanted, 4)
  })

  it('that is ordered also asks for events that wait for others of their key', async () => {
    const handler = await new Handler({ ordered: true, concurrency: 3 }).get(
      { id: 'a', key: 'k' },
      { id: 'b', key: 'k' }
    )
    const { most, back } = handler.over.tables.turns[0]?.wanted[0] ?? {}
    assert.deepEqual([most, back], [48, 48])
    assert.deepEqual([handler.wanted, handler.begun], [46, ['a 1']])
    await handler.end('a')
    assert.deepEqual(handler.begun, ['a 1', 'b 1'])
  })

  it('joins its group, with its pattern as a regular expression if that has wildcards', async () => {
    const plain = await new Handler({ start: 'all' }).get()
    assert.deepEqual(plain.over.tables.joins, [['g', 'p', null, false, { kind: 'all' }]])
    const wild = await new Handler({ ordered: true }, new OverTables(), 'a.*').get()
    assert.deepEqual(wild.over.tables.joins, [['g', 'a.*', '^a\\.[^.]*$', true, { kind: 'new' }]])
    assert.deepEqual(wild.over.lines, [])
  })

  it('refuses a group with another order, and says which events a new group does not get', async () => {
    const handler = new Handler({ ordered: true })
    handler.over.tables.joined = { id: 1, ordered: false, skipped: 0 }
    await assert.rejects(handler.consumer.start(handler.over.connection), {
      name: 'OptionError',
      message:
        /'g' handles 'p' already with ordered: false, and this service wants ordered: true; let them agree/
    })
    const fresh = new Handler()
    fresh.over.tables.joined.skipped = 1
    await fresh.get()
    assert.match(fresh.over.lines.join(), /'g' is new .*up to 1 events? 'p' were stored before/)
  })

  it('puts an event off for the pause of its attempt, and counts events that come again', async () => {
    const handler = await new Handler({ retry: { minDelay: 500 } }).get({ id: 'a' }, { id: 'b', attempt: 2 })
    await handler.end('a', new Error('no'))
    await handler.end('b', new RetryLater(70))
    assert.deepEqual(handler.back, [
      ['1', 1, 500],
      ['2', 2, 70]
    ])
    assert.equal(handler.consumer.figures.redeliveries, 1)
  })

  it('that is ordered gives events back at once, as they would be overtaken, and the runs that have begun', async () => {
    const handler = await new Handler({ ordered: true, concurrency: 9 }).get(
      { id: 'a', key: 'k' },
      { id: 'b', key: 'k', attempt: 3 },
      { id: 'c', letter: '4' },
      { id: 'd', key: 'l' }
    )
    await handler.end('d', new Error('no'))
    assert.deepEqual([handler.begun, handler.back], [['a 1', 'c 1', 'd 1'], []])
    const stopped = handler.consumer.stop()
    await handler.over.settled()
    assert.deepEqual(handler.back, [
      ['2', 2, 0],
      ['4', 1, 0]
    ])
    await handler.end('a', new RetryLater(900))
    await handler.end('c', new RetryLater(900))
    await stopped
    assert.deepEqual(handler.back.slice(2), [
      ['1', 1, 0],
      ['3', 1, 900]
    ])
  })

  it('that is ordered counts no attempt that waited for a place when the handler stopped', async () => {
    const handler = await new Handler({ ordered: true, concurrency: 1 }).get(
      { id: 'a', key: 'k' },
      { id: 'b', key: 'l' }
    )
    await handler.end('a', new RetryLater(50))
    await handler.over.clock.advance(50)
    assert.deepEqual(handler.begun, ['a 1', 'b 1'])
    const stopped = handler.consumer.stop()
    await handler.over.settled()
    assert.deepEqual(handler.back, [['1', 1, 0]])
    await handler.end('b')
    await stopped
  })

  it('buries an event with its reason, and only while no other process has it', async () => {
    const handler = await new Handler({ retry: { attempts: 1 } }).get({ id: 'a' }, { id: 'b' })
    await handler.end('a', new Error('broken'))
    const [{ id, reason, attempt } = {}] = handler.dead
    assert.deepEqual([id, reason, attempt, handler.dead.length], ['a', 'Error: broken', 1, 1])
    handler.over.tables.answers.push({ lost: ['7'] })
    handler.over.turns.wake()
    await handler.over.settled()
    await handler.end('b', new Error('broken'))
    assert.equal(handler.dead.length, 1)
  })

  it('runs until its dead letter is in the database', async () => {
    const handler = await new Handler({ retry: { attempts: 1 } }).get({ id: 'a' })
    let answer = () => {}
    handler.over.tables.answers.push(
      new Promise((resolve) => {
        answer = () => resolve({})
      })
    )
    await handler.end('a', new Error('broken'))
    let hasStopped = false
    const stopped = handler.consumer.stop().then(() => {
      hasStopped = true
    })
    await handler.over.settled()
    assert.deepEqual([handler.dead.length, handler.consumer.running, hasStopped], [1, 1, false])
    answer()
    await stopped
    assert.equal(handler.consumer.running, 0)
  })

  it('buries what its store would have deleted by then, but puts off a dead letter that was given back', async () => {
    const over = new OverTables({ maxAge: 200_000 })
    const published = over.clock.now() - 199_000
    const handler = await new Handler({}, over).get(
      { id: 'a', published },
      { id: 'b', published, letter: '3' },
      { id: 'c', published }
    )
    await handler.end('a', new RetryLater(1_000))
    await handler.end('b', new RetryLater(1_000))
    await handler.end('c', new RetryLater(999))
    assert.match(String(handler.dead[0]?.reason), /its store keeps it no longer/)
    assert.deepEqual(
      [handler.dead.length, handler.back],
      [
        1,
        [
          ['2', 1, 1_000],
          ['3', 1, 999]
        ]
      ]
    )
  })

  it('that is transactional says which events are done without a transaction, and leaves the others to theirs', async () => {
    const handler = await new Handler({ transactional: true }).get({ id: 'a' }, { id: 'b' }, { id: 'c' })
    assert.equal(handler.over.tables.turns[0]?.wanted[0]?.claims, true)
    await handler.end('a', new Discard('nothing to do'))
    const client = { query: async () => ({ rows: [] }) }
    await handler.transactions.acknowledge(client, handler.deliveries.get('b'))
    await handler.end('b')
    await handler.end('c')
    const told = handler.over.written.map(({ left, back, discarded }) => [
      left.length,
      back.length,
      discarded
    ])
    assert.deepEqual(told, [
      [2, 0, [{ position: '1', letter: '0' }]],
      [1, 0, []],
      // It has no transaction, so it has failed.
      [0, 1, []]
    ])
    assert.equal((await new Handler().get()).over.tables.turns[0]?.wanted[0]?.claims, undefined)
  })

  it('that is transactional needs no transaction for an event that another group has kept for itself', async () => {
    const handler = await new Handler({ transactional: true }).get(
      { id: 'a', headers: '{"elysia-groups":"other"}' },
      { id: 'b', headers: '{"elysia-groups":"other g"}' }
    )
    for (const id of ['a', 'b']) await handler.end(id)
    const told = handler.over.written.map(({ back, discarded }) => [back.length, discarded])
    // The second one is its own, and has no transaction.
    assert.deepEqual(told, [
      [0, [{ position: '1', letter: '0' }]],
      [1, []]
    ])
  })

  it('begins nothing that others may have by now', async () => {
    const over = new OverTables({ ackWait: 4_000, pollInterval: 100_000 })
    const handler = await new Handler({ ordered: true }, over).get(
      { id: 'a', key: 'k' },
      { id: 'b', key: 'k' }
    )
    over.isConnected = false
    await over.clock.advance(3_000)
    handler.consumer.lost()
    await handler.end('a')
    assert.deepEqual(handler.begun, ['a 1'])
  })

  it('gives back all that it has when it is cut, and asks for nothing more', async () => {
    const handler = await new Handler({ concurrency: 2 }).get({ id: 'a' })
    handler.consumer.cut()
    await handler.over.settled()
    assert.deepEqual([handler.back, handler.wanted], [[['1', 1, 0]], undefined])
    await handler.end('a')
    assert.equal(handler.over.written.length, 1)
  })

  it('shows what the database counts', async () => {
    const handler = new Handler()
    handler.over.tables.lag = [{ id: 1, lag: 4, paused: true }]
    await handler.get()
    const { lag, isPaused, group, pattern } = handler.consumer.figures
    assert.deepEqual([lag, isPaused, group, pattern], [4, true, 'g', 'p'])
    await handler.consumer.leave()
    handler.consumer.restored()
    await handler.over.settled()
    assert.deepEqual(handler.over.tables.turns.at(-1)?.wanted, [])
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Publisher } from '@elysia-microservices/engine'
import { runs } from '@elysia-microservices/test-support'
import fc from 'fast-check'
import type { Cluster } from '../connection/cluster.ts'
import { Code } from '../connection/errors.ts'
import type { KafkaConnection } from '../connection/kafka-connection.ts'
import type { Batch, DriverConnection } from '../driver.ts'
import type { CreatePartitioner } from '../words/partitioning.ts'
import { EventStore } from './event-store.ts'
import type { StoredRecord } from './stored.ts'

const PARTITIONS = 3
/** Kafka's code for a batch that is stored, but not by enough replicas. */
const NOT_ENOUGH_REPLICAS = 20
/** How many batches a broker recognizes when they come again. */
const RECOGNIZED = 5

/**
 * The fate of a batch: `'stored'`; `'refused'`, because its partition has moved; `'late'`: stored, though the broker
 * answers with an error; `'lost'`: stored, and the connection is lost before the answer; `'unreached'`: its request is
 * not sent; `'unanswered'`: stored, and the broker does not answer in time.
 */
type Fate = 'stored' | 'refused' | 'late' | 'lost' | 'unreached' | 'unanswered'

interface Partition {
  readonly log: string[]
  /** The batches of each producer, with the number of their first and of their next event, and their position. */
  readonly batches: Map<bigint, { first: number; next: number; offset: number }[]>
}

/** One broker that takes batches as Kafka does: in the order of their sequence numbers, and each once. */
class FakeBroker {
  isConnected = true
  topicId = 'id'
  readonly maxPayload = 1024 * 1024
  readonly partitions: readonly Partition[] = Array.from({ length: PARTITIONS }, () => ({
    log: [],
    batches: new Map()
  }))
  /** Requests under way, the most that have been, and all. */
  underWay = 0
  most = 0
  requests = 0
  /** The broker answers nothing until this promise is settled. */
  slow: Promise<unknown> = Promise.resolve()
  restored: () => void = () => {}
  /** The most records that the broker takes in one batch. */
  mostRecords = Number.POSITIVE_INFINITY
  readonly #fates: Fate[]
  #producers = 0n
  #answering: Promise<unknown> = Promise.resolve()

  constructor(fates: readonly Fate[], createPartitioner?: CreatePartitioner) {
    this.#fates = [...fates]
    Object.assign(this.cluster.options, { createPartitioner })
  }

  readonly cluster = {
    options: {},
    topic: (name: string) => ({ name, id: this.topicId, leaders: Array<number>(PARTITIONS).fill(1) }),
    askAny: async () => ({ producerId: this.#producers++, producerEpoch: 0 }),
    ask: (_node: number, _purpose: string, request: (broker: DriverConnection) => Promise<unknown>) =>
      request({
        produce: (_acks: number, _within: number, batches: readonly Batch[]) => this.#ask(batches)
      } as unknown as DriverConnection),
    refresh: async () => {}
  } as unknown as Cluster

  #ask(batches: readonly Batch[]): Promise<unknown> {
    this.most = Math.max(this.most, ++this.underWay)
    this.requests++
    // A broker handles the requests of a connection one after the other.
    const answer = this.#answering.then(async () => {
      await this.slow
      await turn()
      this.underWay--
      if (!this.isConnected) throw new Error('lost')
      return this.#take(batches)
    })
    this.#answering = answer.catch(() => {})
    return answer
  }

  #take(batches: readonly Batch[]): unknown {
    const fates = batches.map(() => this.#fates.shift() ?? 'stored')
    if (fates.includes('unreached')) throw new Error('unreached')
    const partitionResponses = batches.map((batch, index) => this.#takeOne(batch, fates[index] as Fate))
    if (fates.includes('lost')) {
      this.isConnected = false
      setTimeout(() => {
        this.isConnected = true
        this.restored()
      }, 5)
      throw new Error('lost')
    }
    if (fates.includes('unanswered')) throw new Error('unanswered')
    const response = { responses: [{ name: 'p', partitionResponses }] }
    if (partitionResponses.every(({ errorCode }) => errorCode === 0)) return response
    throw Object.assign(new Error('refused'), { response })
  }

  #takeOne({ partition: index, records, by }: Batch, fate: Fate) {
    const { log, batches } = this.partitions[index] as Partition
    const { producerId = -1n, sequence = -1 } = by ?? {}
    const answer = (errorCode: number, baseOffset: number) => ({
      index,
      errorCode,
      baseOffset: BigInt(baseOffset)
    })
    if (records.length > this.mostRecords) return answer(Code.messageTooLarge, -1)
    if (fate === 'refused') return answer(Code.notLeader, -1)
    const known = batches.get(producerId) ?? []
    batches.set(producerId, known)
    const next = sequence + records.length
    const same = known.slice(-RECOGNIZED).find((one) => one.first === sequence && one.next === next)
    const last = known.at(-1)
    // A broker that knows nothing of a producer takes any number.
    if (same === undefined && last !== undefined && last.next !== sequence)
      return answer(Code.outOfOrderSequence, -1)
    const offset = same?.offset ?? log.length
    if (same === undefined) {
      known.push({ first: sequence, next, offset })
      log.push(...records.map(String))
    }
    return fate === 'late' ? answer(NOT_ENOUGH_REPLICAS, -1) : answer(0, offset)
  }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

function eventOf(n: number, key: string, size: number): StoredRecord {
  const common = { pattern: 'p', address: 'p', isOwnId: true, timeout: 0, signal: undefined }
  return { ...common, id: String(n), size, key, bytes: Buffer.from(`${key} ${n}`) }
}

interface Simulated {
  readonly fates: readonly Fate[]
  /** How many events are published in each turn. */
  readonly turns: readonly number[]
  /** The size that the publisher counts for each event. */
  readonly size: number
}

function publisherTo(broker: FakeBroker): Publisher<StoredRecord> {
  const publisher = new Publisher<StoredRecord>({
    title: 'Kafka',
    duplicateWindow: Number.POSITIVE_INFINITY,
    window: 2_048,
    refusesGaps: true
  })
  publisher.attach(new EventStore(broker as unknown as KafkaConnection, publisher))
  broker.restored = () => publisher.restored()
  return publisher
}

/** Publishes, and returns what is stored when all events are confirmed. */
async function simulate({ fates, turns, size }: Simulated) {
  const broker = new FakeBroker(fates)
  const publisher = publisherTo(broker)
  const published: Promise<unknown>[] = []
  for (const count of turns) {
    for (let left = count; left > 0; left--) {
      const n = published.length
      published.push(publisher.publish(eventOf(n, `k${n % 7}`, size)))
    }
    await turn()
  }
  await Promise.all(published)
  publisher.close(new Error('over'))
  return { broker, count: published.length }
}

/** The numbers of the events of each key, in the order in which they were stored first. */
function storedByKey({ partitions }: FakeBroker): number[][] {
  const keys = new Map<string, Set<number>>()
  for (const { log } of partitions)
    for (const record of log) {
      const [key = '', n] = record.split(' ')
      keys.set(key, (keys.get(key) ?? new Set()).add(Number(n)))
    }
  return [...keys.values()].map((numbers) => [...numbers])
}

const simulated = (...fates: readonly Fate[]) =>
  fc.record({
    fates: fc.array(fc.constantFrom('stored' as const, 'stored' as const, ...fates), { maxLength: 12 }),
    turns: fc.array(fc.nat({ max: 12 }), { minLength: 1, maxLength: 12 }),
    size: fc.constantFrom(10, 100_000)
  })

it('an event that a broker knows already is stored, at the position that the broker tells', async () => {
  const partitionResponses = [{ index: 0, errorCode: Code.duplicateSequence, baseOffset: 7n }]
  const response = { responses: [{ name: 'p', partitionResponses }] }
  const cluster = {
    options: {},
    topic: () => ({ name: 'p', id: 'id', leaders: [1] }),
    askAny: async () => ({ producerId: 1n, producerEpoch: 0 }),
    ask: async () => {
      throw Object.assign(new Error('duplicate'), { response })
    },
    refresh: async () => {}
  }
  const told: unknown[] = []
  const event = { address: 'p', key: undefined, bytes: Buffer.from(''), size: 1 } as unknown as StoredRecord
  const store = new EventStore(
    { isConnected: true, maxPayload: 100, cluster } as unknown as KafkaConnection,
    {
      sentEvent: () => event,
      stored: (number: number, position: string) => told.push([number, position.replace(/-\d+$/, '')]),
      refused: (number: number, error: Error) => told.push([number, error.message])
    } as unknown as Publisher<StoredRecord>
  )
  store.append(event, 3)
  for (let turns = 0; told.length === 0 && turns < 100; turns++) await new Promise(setImmediate)
  assert.deepEqual(told, [[3, '0-7']])
})

describe('events that are published to Kafka', () => {
  it('go where createPartitioner says, and only those for which it fails are refused', async () => {
    let asked = 0
    const broker = new FakeBroker([], () => () => (asked++ === 1 ? PARTITIONS : 2))
    const publisher = publisherTo(broker)
    const ends = await Promise.allSettled([0, 1, 2].map((n) => publisher.publish(eventOf(n, 'k', 10))))
    publisher.close(new Error('over'))
    assert.deepEqual(
      ends.map((end) => end.status === 'rejected' && end.reason.name),
      [false, 'EventRefusedError', false]
    )
    assert.deepEqual(
      broker.partitions.map(({ log }) => log),
      [[], [], ['k 0', 'k 2']]
    )
  })

  it('that are stored together are told their positions, each its own', async () => {
    const publisher = publisherTo(new FakeBroker([]))
    const published = await Promise.all([0, 1, 2].map((n) => publisher.publish(eventOf(n, 'k', 10))))
    publisher.close(new Error('over'))
    const offsets = published.map(({ position = '' }) => Number(position.split('-')[1]))
    assert.deepEqual(offsets, [0, 1, 2])
  })

  it('are stored in the order of their keys, and none is lost, with two requests under way', async () => {
    // The publisher pauses after each error: all at the same time take no longer than one.
    const all = await Promise.all(
      fc.sample(simulated('refused', 'late', 'lost', 'unreached', 'unanswered'), runs(300)).map(simulate)
    )
    for (const { broker, count } of all) {
      const keys = storedByKey(broker)
      assert.equal(keys.flat().length, count)
      for (const numbers of keys)
        assert.deepEqual(
          numbers,
          numbers.toSorted((one, other) => one - other)
        )
    }
    assert.equal(Math.max(...all.map(({ broker }) => broker.most)), 2)
  })

  it('are stored once when a partition moves, or its broker cannot be reached', async () => {
    for (const { broker, count } of await Promise.all(
      fc.sample(simulated('refused', 'unreached'), runs(100)).map(simulate)
    ))
      assert.equal(broker.partitions.flatMap(({ log }) => log).length, count)
  })

  it('are stored once when the connection is lost before the answer', async () => {
    for (const { broker, count } of await Promise.all(fc.sample(simulated('lost'), runs(100)).map(simulate)))
      assert.equal(broker.partitions.flatMap(({ log }) => log).length, count)
  })

  it('are not sent again when they are answered in the turn in which a restored connection would', async () => {
    const broker = new FakeBroker([])
    const publisher = publisherTo(broker)
    const published = publisher.publish(eventOf(0, 'k', 10))
    // The request leaves in this turn, and is answered in the next one.
    await turn()
    broker.restored()
    await published
    for (let n = 0; n < 10; n++) await turn()
    publisher.close(new Error('over'))
    assert.equal(broker.requests, 1)
  })

  it('are stored once when their topic is created again while the brokers are lost', async () => {
    const broker = new FakeBroker([])
    const publisher = publisherTo(broker)
    const published = [0, 1, 2].map((n) => publisher.publish(eventOf(n, 'k', 10)))
    broker.isConnected = false
    await turn()
    broker.topicId = 'another'
    broker.isConnected = true
    broker.restored()
    await Promise.all(published)
    for (let n = 0; n < 10; n++) await turn()
    publisher.close(new Error('over'))
    assert.deepEqual(broker.partitions.flatMap(({ log }) => log).sort(), ['k 0', 'k 1', 'k 2'])
  })

  it('are sent to a topic that was created again without those for which nobody waits any more', async () => {
    const broker = new FakeBroker(['lost'])
    const publisher = publisherTo(broker)
    const given = new AbortController()
    const [first, second, third] = [undefined, given.signal, undefined].map((signal, n) =>
      publisher.publish({ ...eventOf(n, 'k', 10), signal })
    )
    const givenUp = assert.rejects(second as Promise<unknown>, { name: 'CanceledError' })
    while (broker.isConnected) await turn()
    // All three were stored in the topic that is gone.
    broker.topicId = 'another'
    for (const { log, batches } of broker.partitions) {
      log.length = 0
      batches.clear()
    }
    given.abort()
    await Promise.all([first, third, givenUp])
    publisher.close(new Error('over'))
    assert.deepEqual(
      broker.partitions.flatMap(({ log }) => log),
      ['k 0', 'k 2']
    )
  })

  it('are stored in smaller batches if they are too large only together', async () => {
    const broker = new FakeBroker([])
    broker.mostRecords = 3
    const publisher = publisherTo(broker)
    await Promise.all(Array.from({ length: 40 }, (_, n) => publisher.publish(eventOf(n, `k${n % 7}`, 10))))
    publisher.close(new Error('over'))
    const keys = storedByKey(broker)
    assert.equal(broker.partitions.flatMap(({ log }) => log).length, 40)
    for (const numbers of keys)
      assert.deepEqual(
        numbers,
        numbers.toSorted((one, other) => one - other)
      )
  })

  it('are sent together as long as a request has room for them', async () => {
    const broker = new FakeBroker([])
    const publisher = publisherTo(broker)
    // Two of them have room in one batch of a partition, and in one request.
    const size = 100 * 1024
    await Promise.all(Array.from({ length: 12 }, (_, n) => publisher.publish(eventOf(n, `k${n % 5}`, size))))
    publisher.close(new Error('over'))
    assert.ok(broker.requests >= 6, `${broker.requests} requests for 12 events, of which 2 fit into one`)
    assert.equal(broker.partitions.flatMap(({ log }) => log).length, 12)
  })

  it('alone too large are refused', async () => {
    const broker = new FakeBroker([])
    broker.mostRecords = 0
    const publisher = publisherTo(broker)
    const published = Array.from({ length: 9 }, (_, n) => publisher.publish(eventOf(n, 'k', 10)))
    for (const one of await Promise.allSettled(published))
      assert.match(String(one.status === 'rejected' && one.reason.message), /larger than Kafka accepts/)
    publisher.close(new Error('over'))
  })

  it('leave together when they come in many turns while their broker is busy', async () => {
    const broker = new FakeBroker([])
    let answer = () => {}
    broker.slow = new Promise<void>((resolve) => {
      answer = resolve
    })
    const publisher = publisherTo(broker)
    const published: Promise<unknown>[] = []
    while (published.length < 50) {
      published.push(publisher.publish(eventOf(published.length, 'k', 10)))
      await turn()
    }
    answer()
    await Promise.all(published)
    publisher.close(new Error('over'))
    assert.equal(broker.requests, 2)
  })
})

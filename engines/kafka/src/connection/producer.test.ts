/** The producer over a cluster whose answers a test gives. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ConnectionError } from '@elysia-microservices/transport/kit'
import type { Batch, DriverConnection } from '../driver.ts'
import { refusal } from '../testing/refusal.ts'
import type { Cluster } from './cluster.ts'
import { Code } from './errors.ts'
import { type OutgoingRecord, Producer, type Told } from './producer.ts'

/** A request to store records, until the test answers it. */
interface Asked {
  readonly leader: number
  /** The texts of the records, by topic and partition. */
  readonly records: Readonly<Record<string, string[]>>
  readonly batches: readonly Batch[]
  stored(): void
  /** Refuses partitions, such as `a 0`. */
  refuse(code: number, ...places: string[]): void
  fail(error: Error): void
}

/** @param leaders of the partitions of the topics that exist */
function open(leaders: Readonly<Record<string, number[]>>) {
  const asked: Asked[] = []
  const refreshed: unknown[] = []
  const cluster = {
    options: {},
    isConnected: true,
    topic: (name: string) => (leaders[name] === undefined ? undefined : { leaders: leaders[name] }),
    lookUp: async () => {},
    leaderOf: async () => {},
    refresh: async (names: unknown) => void refreshed.push(names),
    ask: (leader: number, _purpose: string, request: (broker: DriverConnection) => unknown) =>
      request({
        produce: (_acks: number, _within: number, batches: readonly Batch[]) =>
          new Promise((resolve, reject) => {
            const nameOf = ({ topic, partition }: Batch) => `${topic} ${partition}`
            const records = batches.map((batch) => [nameOf(batch), batch.records.map(String)])
            asked.push({
              ...{ leader, batches, records: Object.fromEntries(records) },
              stored: () => resolve({ responses: [] }),
              fail: reject,
              refuse(code, ...places) {
                const responses = batches.map((batch) => {
                  const errorCode = places.includes(nameOf(batch)) ? code : 0
                  return {
                    name: batch.topic,
                    partitionResponses: [{ index: batch.partition, errorCode, baseOffset: 0n }]
                  }
                })
                reject(refusal([code], { responses }))
              }
            })
          })
      } as unknown as DriverConnection)
  }
  const producer = new Producer(cluster as unknown as Cluster, (error) => assert.fail(String(error)))
  const told: string[] = []
  const send = (topic: string, text: string, partition?: number) => {
    const record = {
      ...{ topic, partition, key: undefined, bytes: Buffer.from(text) },
      told: ({ isMissing, error }: Told) =>
        void told.push(`${text}: ${isMissing ? 'missing' : error.message}`)
    }
    producer.send(record as unknown as OutgoingRecord)
  }
  const turn = async () => {
    for (let turns = 0; turns < 4; turns++) await new Promise(setImmediate)
  }
  return { producer, cluster, asked, told, send, turn, refreshed }
}

describe('a producer', () => {
  it('sends the records of one turn to each leader in one request, and those that come meanwhile in the next', async () => {
    const { asked, send, turn, producer } = open({ a: [1, 2], b: [1] })
    send('a', 'one', 0)
    send('a', 'two', 1)
    send('b', 'three', 0)
    send('a', 'four', 0)
    await turn()
    assert.deepEqual(
      asked.map(({ leader, records }) => [leader, records]),
      [
        [1, { 'a 0': ['one', 'four'], 'b 0': ['three'] }],
        [2, { 'a 1': ['two'] }]
      ]
    )
    for (const text of ['five', 'six']) {
      send('a', text, 0)
      await turn()
    }
    assert.equal(asked.length, 2, 'one request to a leader at a time')
    let isFlushed = false
    const flushed = producer.flush().then(() => {
      isFlushed = true
    })
    for (const one of asked) one.stored()
    await turn()
    assert.deepEqual(asked[2]?.records, { 'a 0': ['five', 'six'] })
    assert.equal(isFlushed, false)
    asked[2]?.stored()
    await flushed
    // Later records begin a request of their own again.
    send('a', 'seven', 0)
    await turn()
    assert.deepEqual(asked[3]?.records, { 'a 0': ['seven'] })
  })

  it('gives a flush only what was sent before it to wait for', async () => {
    const { asked, send, turn, producer } = open({ a: [1] })
    await producer.flush()
    send('a', 'one')
    const flushed = producer.flush()
    await turn()
    send('a', 'two')
    asked[0]?.stored()
    await flushed
  })

  it('sends no more at once than brokers take', async () => {
    const { asked, send, turn } = open({ a: [1] })
    const half = 'x'.repeat(500 * 1024)
    for (let n = 0; n < 3; n++) send('a', half)
    send('a', 'small')
    for (let n = 0; n < 3; n++) {
      await turn()
      asked[n]?.stored()
    }
    const sizes = asked.map(({ records }) => records['a 0']?.map(({ length }) => length))
    assert.deepEqual(sizes, [[512_000], [512_000], [512_000, 5]])
  })

  it('sends records without a key to the partitions in turn, and leaves out those without a leader', async () => {
    const { asked, send, turn } = open({ a: [1, -1, 1], none: [-1, -1] })
    for (const text of ['one', 'two', 'three']) send('a', text)
    await turn()
    assert.deepEqual(asked[0]?.records, { 'a 0': ['one', 'three'], 'a 2': ['two'] })
  })

  it('tells of a topic that is missing, and of records that are refused alone', async () => {
    const { asked, told, send, turn, producer } = open({ a: [1] })
    send('missing', 'one')
    await turn()
    assert.deepEqual(told, ['one: missing'])
    send('a', 'two')
    await turn()
    asked[0]?.refuse(Code.messageTooLarge, 'a 0')
    await producer.flush()
    assert.deepEqual([told.length, asked.length], [2, 1])
  })

  it('fails a record whose partition has no leader, and does not say that its topic is missing', async () => {
    const { asked, told, send, producer } = open({ none: [-1, -1] })
    send('none', 'one')
    await producer.flush()
    assert.deepEqual([asked.length, told], [0, ["one: There is no topic 'none'"]])
  })

  it('sends the records of a refused partition again one by one, and those of others not', async () => {
    const { asked, told, send, turn, producer } = open({ a: [1, 1] })
    send('a', 'well', 0)
    for (const text of ['large', 'small']) send('a', text, 1)
    await turn()
    asked[0]?.refuse(Code.messageTooLarge, 'a 1')
    await turn()
    assert.deepEqual(asked[1]?.records, { 'a 1': ['large'] })
    asked[1]?.refuse(Code.messageTooLarge, 'a 1')
    await turn()
    assert.deepEqual(asked[2]?.records, { 'a 1': ['small'] })
    asked[2]?.stored()
    await producer.flush()
    assert.deepEqual([asked.length, told.map((line) => line.slice(0, 6))], [3, ['large:']])
  })

  it('does not send again what its user may not send', async () => {
    const { asked, told, send, turn, producer } = open({ a: [1, 1] })
    for (const [text, partition] of [
      ['well', 0],
      ['one', 1],
      ['two', 1]
    ] as const)
      send('a', text, partition)
    await turn()
    asked[0]?.refuse(Code.topicAuthorization, 'a 1')
    await producer.flush()
    assert.deepEqual([asked.length, told.length], [1, 2])
  })

  it('sends the records of a partition that has moved to its new leader, in order and behind nothing else', async () => {
    const leaders = { a: [1, 1] }
    const { asked, told, send, turn, producer, refreshed } = open(leaders)
    for (const [text, partition] of [
      ['well', 0],
      ['one', 1]
    ] as const)
      send('a', text, partition)
    await turn()
    // This one waits at the old leader, behind the request that will be refused.
    send('a', 'two', 1)
    send('a', 'stays', 0)
    leaders.a[1] = 2
    asked[0]?.refuse(Code.notLeader, 'a 1')
    await turn()
    assert.deepEqual([asked[1]?.leader, asked[1]?.records], [1, { 'a 0': ['stays'] }])
    asked[1]?.stored()
    // A record that comes while the leader is looked up follows the others.
    send('a', 'three', 1)
    while (asked.length < 3) await turn()
    assert.deepEqual([asked[2]?.leader, asked[2]?.records], [2, { 'a 1': ['one', 'two', 'three'] }])
    assert.deepEqual(refreshed, [['a']])
    asked[2]?.stored()
    await producer.flush()
    assert.deepEqual([asked.length, told], [3, []])
  })

  it('fails everything when the brokers are lost: what waits, what is under way and each flush', async () => {
    const { asked, told, send, turn, producer, cluster } = open({ a: [1] })
    send('a', 'under way')
    await turn()
    send('a', 'waits')
    const flushing = assert.rejects(producer.flush(), ConnectionError)
    cluster.isConnected = false
    producer.lost()
    await flushing
    assert.deepEqual(told, ['waits: The connection to the Kafka brokers was lost'])
    asked[0]?.fail(new Error('ended'))
    await producer.flush()
    await turn()
    assert.deepEqual(told.slice(1), ['under way: The connection to the Kafka brokers was lost'])
    // Everything is settled, so a flush waits for nothing.
    await producer.flush()
  })
})

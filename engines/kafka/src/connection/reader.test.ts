import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type FetchedBytes, Isolation } from '../driver.ts'
import { writeBatch } from '../words/batch.ts'
import { writeRecord } from '../words/record.ts'
import type { Cluster } from './cluster.ts'
import { Code } from './errors.ts'
import { Reader } from './reader.ts'

const record = writeRecord(undefined, Buffer.from('1'), {})
const bytes = writeBatch([record, record, record], 0)
const NONE = Buffer.alloc(0)

/** A cluster with the topics 'a' and 'b', of one partition each. It gives one answer, and then no other. */
class FakeCluster {
  isConnected = true
  refreshes = 0
  readonly #answer: FetchedBytes[]

  constructor(answer: FetchedBytes[]) {
    this.#answer = answer
  }

  topic(name: string) {
    return { name, id: name, leaders: [1] }
  }

  onMoved() {
    return () => {}
  }

  /** Fails once, like the brokers of a cluster that restarts. */
  async refresh(): Promise<void> {
    if (++this.refreshes === 1) throw new Error('no broker answers')
  }

  ask(): Promise<FetchedBytes[]> {
    const answer = this.#answer.splice(0)
    return answer.length > 0 ? Promise.resolve(answer) : new Promise(() => {})
  }

  async drop(): Promise<void> {}
}

/** Reads both topics of a cluster. @returns the offsets of 'a' that came before the first failure, and the failure */
async function offsetsUntilFailure(answer: FetchedBytes[], gone: () => Promise<bigint> = async () => 0n) {
  const cluster = new FakeCluster(answer)
  const offsets: number[] = []
  let reader: Reader | undefined
  const failure = await new Promise<unknown>((failed) => {
    reader = new Reader(cluster as unknown as Cluster, 'test', Isolation.committed, {
      receive: (partitions) => {
        for (const { topic, records } of partitions)
          for (const { offset } of topic === 'a' ? records : []) offsets.push(offset)
      },
      gone,
      failed
    })
    reader.add('a', 0, 0n)
    reader.add('b', 0, 0n)
  })
  await reader?.stop()
  return { offsets, failure: String(failure) }
}

const ofA: FetchedBytes = { topicId: 'a', partition: 0, errorCode: 0, end: 3n, aborted: [], bytes }
const ofB = (errorCode: number, bytes = NONE): FetchedBytes => ({ ...ofA, topicId: 'b', errorCode, bytes })

const ofProducer = writeBatch([record, record, record], 0, { producerId: 7n, producerEpoch: 0, sequence: 0 })
ofProducer.writeInt16BE(0x10, 21)

describe('a reader', () => {
  it('passes over the records of an aborted transaction, and goes on behind them', async () => {
    const aborted = { ...ofA, bytes: ofProducer, aborted: [{ producerId: 7n, first: 0 }] }
    const further = Buffer.from(bytes)
    further.writeBigInt64BE(3n, 0)
    const { offsets } = await offsetsUntilFailure([aborted, { ...ofA, bytes: further }, ofB(Code.notLeader)])
    assert.deepEqual(offsets, [3, 4, 5])
  })

  it('gives on the records of one partition when another one has moved, and the brokers cannot be asked', async () => {
    const { offsets, failure } = await offsetsUntilFailure([ofA, ofB(Code.notLeader)])
    assert.match(failure, /no broker answers/)
    assert.deepEqual(offsets, [0, 1, 2])
  })

  it('gives on the records of one partition when those of another one were deleted, and no position is known', async () => {
    const gone = async () => assert.fail('no position')
    const { offsets, failure } = await offsetsUntilFailure([ofA, ofB(Code.offsetOutOfRange)], gone)
    assert.match(failure, /no position/)
    assert.deepEqual(offsets, [0, 1, 2])
  })

  it('gives on the records of one partition when those of another one cannot be read', async () => {
    const unreadable = Buffer.from(bytes)
    unreadable[16] = 7
    const { offsets, failure } = await offsetsUntilFailure([ofA, ofB(0, unreadable)])
    assert.match(failure, /format 7/)
    assert.deepEqual(offsets, [0, 1, 2])
  })
})

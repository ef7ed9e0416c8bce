import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Cluster } from '../connection/cluster.ts'
import type { Batch, DriverConnection } from '../driver.ts'
import { put } from './copies.ts'

const MANY = 1_000

/** Brokers that answer in the next turn, and every seventh request with an error. */
class Brokers {
  readonly isConnected = true
  producers = 0
  underWay = 0
  mostUnderWay = 0
  readonly stored: string[] = []
  #asked = 0

  async lookUp() {
    return this.topic()
  }

  topic() {
    return { name: 'topic', id: 'id', leaders: [0] }
  }

  async leaderOf() {
    return 0
  }

  persist<Result>(_: readonly string[], task: () => Promise<Result>): Promise<Result> {
    return task()
  }

  async askAny() {
    return { producerId: BigInt(this.producers++), producerEpoch: 0 }
  }

  ask(_node: number, _purpose: string, request: (broker: DriverConnection) => Promise<unknown>) {
    const produce = (_acks: number, _within: number, [batch]: readonly Batch[]) => this.#produce(batch)
    return request({ produce } as unknown as DriverConnection)
  }

  async #produce(batch: Batch | undefined) {
    this.mostUnderWay = Math.max(this.mostUnderWay, ++this.underWay)
    await new Promise((resolve) => setImmediate(resolve))
    this.underWay--
    if (this.#asked++ % 7 === 6) throw Object.assign(new Error('too large'), { apiCode: 10 })
    this.stored.push(`${batch?.by?.producerId} ${batch?.by?.sequence}`)
  }
}

it('copies that are stored at once share a few producers, also after failures', async () => {
  const brokers = new Brokers()
  const copy = { partition: 0, key: undefined, value: Buffer.from('x') }
  const puts = Array.from({ length: MANY }, () => put(brokers as unknown as Cluster, { name: 'topic' }, copy))
  const failed = (await Promise.allSettled(puts)).filter(({ status }) => status === 'rejected').length
  assert.equal(failed, Math.floor(MANY / 7))
  assert.equal(brokers.stored.length, MANY - failed)
  assert.equal(new Set(brokers.stored).size, brokers.stored.length)
  assert.equal(brokers.mostUnderWay, 16)
  assert.ok(brokers.producers <= 16 + failed)
})

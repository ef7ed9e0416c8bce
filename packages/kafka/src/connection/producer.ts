/**
 * Records on their way to the brokers: those of one turn leave together, and while they are under way those that come are
 * collected. One request for each record would cost ten times as much.
 */
import { ConnectionError } from '@elysia-microservices/transport/kit'
import { COST_OF_RECORD } from '../words/batch.ts'
import { grouped } from '../words/grouped.ts'
import type { Outgoing } from '../words/outgoing.ts'
import { soon } from './brokers.ts'
import type { Cluster } from './cluster.ts'
import { Code, codesIn, isUnreached } from './errors.ts'
import { produceApi } from './record-apis.ts'

/** Bytes of records that leave together: brokers refuse more than 1,048,588 of one partition. */
const MOST_TOGETHER = 960 * 1024
/** Milliseconds until records for a broker that cannot be reached are tried again. */
const AGAIN_AFTER = 100
/** Milliseconds for the brokers to have a record. */
const ACKNOWLEDGED_WITHIN = 20_000

/** The failure of a record. */
export interface Told {
  /** The topic is not there. */
  readonly isMissing: boolean
  readonly error: Error
}

/** A record on its way out. */
export interface OutgoingRecord extends Outgoing {
  partition: number | undefined
  /** When it is given up, if the first attempt has failed. */
  until?: number
  readonly told?: ((told: Told) => void) | undefined
}

/** Records for the partitions that one broker leads, in order. */
interface Lane {
  readonly leader: number
  waiting: OutgoingRecord[]
  isUnderWay: boolean
}

/** Sends records that nobody needs to be stored for long: each once, or not at all. */
export class Producer {
  readonly #cluster: Cluster
  readonly #lanes = new Map<number, Lane>()
  /** Records whose topics, or the leaders of their partitions, are being looked up, in order. */
  readonly #unknown = new Map<string, OutgoingRecord[]>()
  /** The partition for the next record without one, by topic. */
  readonly #turns = new Map<string, number>()
  #given = 0
  #settled = 0
  #flushing: { readonly until: number; resolve(): void; reject(error: Error): void }[] = []

  constructor(cluster: Cluster) {
    this.#cluster = cluster
  }

  send(record: OutgoingRecord): void {
    this.#given++
    const mustWait = this.#unknown.size > 0 && this.#unknown.has(placeOf(record))
    if (mustWait || !this.#place(record)) this.#hold(record, false)
  }

  /** Has a record wait until it is known who leads its partition. @param isAgain what is known is not so any more */
  #hold(record: OutgoingRecord, isAgain: boolean): void {
    const place = placeOf(record)
    const waiting = this.#unknown.get(place)
    if (waiting !== undefined) return void waiting.push(record)
    this.#unknown.set(place, [record])
    void this.#lookUp(record, isAgain)
  }

  /** @returns false: it is not known who leads its partition */
  #place(record: OutgoingRecord): boolean {
    const leaders = this.#cluster.topic(record.topic)?.leaders
    if (leaders === undefined) return false
    if (record.partition === undefined) {
      let turn = this.#turns.get(record.topic) ?? -1
      // A partition that has no leader at the moment is passed over, unless none has one.
      for (let left = leaders.length; left > 0; left--) {
        turn = (turn + 1) % leaders.length
        if ((leaders[turn] ?? -1) >= 0) break
      }
      record.partition = turn
      this.#turns.set(record.topic, turn)
    }
    const leader = leaders[record.partition] ?? -1
    if (leader < 0) return false
    let lane = this.#lanes.get(leader)
    if (lane === undefined) {
      lane = { leader, waiting: [], isUnderWay: false }
      this.#lanes.set(leader, lane)
    }
    lane.waiting.push(record)
    if (lane.isUnderWay) return true
    lane.isUnderWay = true
    setImmediate(() => void this.#run(lane))
    return true
  }

  async #lookUp({ topic, partition }: OutgoingRecord, isAgain: boolean): Promise<void> {
    let failure: Error | undefined
    try {
      if (isAgain) {
        await soon(AGAIN_AFTER)
        await this.#cluster.refresh([topic])
      }
      if (partition === undefined) await this.#cluster.lookUp(topic)
      else await this.#cluster.leaderOf(topic, partition)
    } catch (error) {
      failure = error as Error
    }
    const place = placeOf({ topic, partition })
    const records = this.#unknown.get(place) ?? []
    this.#unknown.delete(place)
    for (const record of records) {
      if (failure === undefined && this.#place(record)) continue
      const isMissing = failure === undefined && this.#cluster.topic(topic) === undefined
      this.#fail([record], { isMissing, error: failure ?? new Error(`There is no topic '${topic}'`) })
    }
  }

  async #run(lane: Lane): Promise<void> {
    while (lane.waiting.length > 0) {
      const records = this.#take(lane)
      try {
        await this.#produce(lane.leader, records)
        this.#settle(records.length)
      } catch (error) {
        await this.#failed(lane, records, error as Error)
      }
    }
    lane.isUnderWay = false
  }

  #take(lane: Lane): OutgoingRecord[] {
    let size = 0
    let count = 0
    for (const record of lane.waiting) {
      size += record.bytes.length + COST_OF_RECORD
      if (count > 0 && size > MOST_TOGETHER) break
      count++
    }
    if (count < lane.waiting.length) return lane.waiting.splice(0, count)
    const all = lane.waiting
    lane.waiting = []
    return all
  }

  async #produce(leader: number, records: readonly OutgoingRecord[]): Promise<void> {
    const timestamp = Date.now()
    const byPartition = grouped(records, ({ topic, partition }) => `${topic} ${partition}`)
    const batches = [...byPartition.values()].map((of) => {
      const { topic, partition = 0 } = of[0] as OutgoingRecord
      return { topic, partition, timestamp, records: of.map(({ bytes }) => bytes) }
    })
    await this.#cluster.ask(leader, 'main', produceApi, 1, ACKNOWLEDGED_WITHIN, batches)
  }

  /**
   * Records that were refused because of another one are sent again: brokers only say which partition an error is of.
   */
  async #failed(lane: Lane, records: readonly OutgoingRecord[], error: Error): Promise<void> {
    const codes = codesIn(error)
    const isMoving = codes.includes(Code.notLeader) || codes.includes(Code.unknownTopic)
    if (isUnreached(error) && this.#cluster.isConnected) return this.#again(lane, records, error)
    if (codes.length === 0 || !this.#cluster.isConnected)
      return this.#fail(records, { isMissing: false, error: lost(error) })
    if (records.length === 1 && !isMoving) return this.#fail(records, { isMissing: false, error })
    // Each partition takes all of its records, or none.
    const refused = refusedIn(error)
    const again: OutgoingRecord[] = []
    let settled = 0
    for (const record of records) {
      if (!refused.has(`${record.topic} ${record.partition}`)) settled++
      else again.push(record)
    }
    this.#settle(settled)
    if (isMoving) return this.#again(lane, again, error)
    for (const record of again) {
      try {
        if (codes.includes(Code.topicAuthorization)) throw error
        await this.#produce(this.#cluster.topic(record.topic)?.leaders[record.partition as number] ?? -1, [
          record
        ])
        this.#settle(1)
      } catch (cause) {
        this.#fail([record], { isMissing: false, error: cause as Error })
      }
    }
  }

  /** Sends records to who leads their partitions now, in front of what waits for the same partitions. */
  #again(lane: Lane, records: readonly OutgoingRecord[], error: Error): void {
    const places = new Set(records.map(placeOf))
    const behind = lane.waiting.filter((record) => places.has(placeOf(record)))
    lane.waiting = lane.waiting.filter((record) => !places.has(placeOf(record)))
    const now = performance.now()
    for (const record of [...records, ...behind]) {
      record.until ??= now + ACKNOWLEDGED_WITHIN
      if (record.until > now) this.#hold(record, true)
      else this.#fail([record], { isMissing: false, error })
    }
  }

  #fail(records: readonly OutgoingRecord[], told: Told): void {
    for (const record of records) record.told?.(told)
    this.#settle(records.length)
  }

  #settle(count: number): void {
    this.#settled += count
    while ((this.#flushing[0]?.until ?? Number.POSITIVE_INFINITY) <= this.#settled)
      this.#flushing.shift()?.resolve()
  }

  /** Resolves when the brokers have what was sent, as far as they take it. @throws {ConnectionError} they are lost before */
  flush(): Promise<void> {
    if (this.#given === this.#settled) return Promise.resolve()
    return new Promise((resolve, reject) => this.#flushing.push({ until: this.#given, resolve, reject }))
  }

  /** The brokers are lost, with what is under way. */
  lost(): void {
    for (const { reject } of this.#flushing.splice(0)) reject(lost())
    const waiting = [...this.#unknown.values(), ...[...this.#lanes.values()].map((lane) => lane.waiting)]
    this.#unknown.clear()
    for (const lane of this.#lanes.values()) lane.waiting = []
    this.#fail(waiting.flat(), { isMissing: false, error: lost() })
  }
}

/** Where a record waits: in a partition, if that is chosen. */
function placeOf({ topic, partition }: Pick<OutgoingRecord, 'topic' | 'partition'>): string {
  return partition === undefined ? topic : `${topic} ${partition}`
}

function lost(cause?: Error): ConnectionError {
  return new ConnectionError('The connection to the Kafka brokers was lost', true, cause)
}

/** The partitions that a broker has refused records for. */
export function refusedIn(error: unknown): Map<string, { readonly code: number; readonly offset: bigint }> {
  const { response } = Object(error) as {
    readonly response?: {
      readonly responses: readonly {
        readonly name: string
        readonly partitionResponses: readonly {
          readonly index: number
          readonly errorCode: number
          readonly baseOffset: bigint
        }[]
      }[]
    }
  }
  const refused = new Map<string, { readonly code: number; readonly offset: bigint }>()
  for (const { name, partitionResponses } of response?.responses ?? [])
    for (const { index, errorCode, baseOffset } of partitionResponses)
      if (errorCode !== 0) refused.set(`${name} ${index}`, { code: errorCode, offset: baseOffset })
  return refused
}

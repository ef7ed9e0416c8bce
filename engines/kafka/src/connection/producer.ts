/**
 * Sends records to the brokers. The records of one turn of the event loop leave in one request, and records that come
 * while the request is under way are collected for the next. One request for each record would cost ten times as
 * much.
 */
import { ConnectionError } from '@elysia-microservices/transport/kit'
import type { Produced } from '../driver.ts'
import { COST_OF_RECORD } from '../words/batch.ts'
import { grouped } from '../words/grouped.ts'
import type { Outgoing } from '../words/outgoing.ts'
import { type ChoosePartition, choosePartition, partitionOf } from '../words/partitioning.ts'
import { soon } from './brokers.ts'
import type { Cluster } from './cluster.ts'
import { Code, codesIn, isUnreached } from './errors.ts'

/** Bytes of records in one request: brokers refuse more than 1,048,588 for one partition. */
const MOST_TOGETHER = 960 * 1024
/** Milliseconds until records are sent again for which no broker could be reached. */
const AGAIN_AFTER = 100
/** Milliseconds within which the brokers must have stored a record. */
const ACKNOWLEDGED_WITHIN = 20_000

/** Why a record was not stored. */
export interface Told {
  /** The topic does not exist. */
  readonly isMissing: boolean
  readonly error: Error
}

/** A record to be sent. */
export interface OutgoingRecord extends Outgoing {
  partition: number | undefined
  /**
   * The time at which sending is given up, in milliseconds of `performance.now()`; set when the first attempt has
   * failed.
   */
  until?: number
  readonly told?: ((told: Told) => void) | undefined
}

/** Records for the partitions that one broker leads, in the order in which they are sent. */
interface Lane {
  readonly leader: number
  waiting: OutgoingRecord[]
  isUnderWay: boolean
}

/** Sends records that need not be stored for long. The brokers store each record once at most. */
export class Producer {
  readonly #cluster: Cluster
  readonly #choose: ChoosePartition
  readonly #chosenWrong: (error: unknown) => void
  readonly #lanes = new Map<number, Lane>()
  /**
   * Records that wait until the brokers have told the topic, or the leader of the partition; by topic or partition,
   * in order.
   */
  readonly #unknown = new Map<string, OutgoingRecord[]>()
  /** The partition that the last record without a partition of its own was given, by topic. */
  readonly #turns = new Map<string, number>()
  #given = 0
  #settled = 0
  #flushing: { readonly until: number; resolve(): void; reject(error: Error): void }[] = []

  /** @param chosenWrong is told of errors of the option `createPartitioner` */
  constructor(cluster: Cluster, chosenWrong: (error: unknown) => void) {
    this.#cluster = cluster
    this.#choose = choosePartition(cluster.options.createPartitioner)
    this.#chosenWrong = chosenWrong
  }

  send(record: OutgoingRecord): void {
    this.#given++
    const mustWait = this.#unknown.size > 0 && this.#unknown.has(placeOf(record))
    if (mustWait || !this.#place(record)) this.#hold(record, false)
  }

  /** Keeps a record until the leader of its partition is known. @param isAgain the known leader is out of date */
  #hold(record: OutgoingRecord, isAgain: boolean): void {
    const place = placeOf(record)
    const waiting = this.#unknown.get(place)
    if (waiting !== undefined) return void waiting.push(record)
    this.#unknown.set(place, [record])
    void this.#lookUp(record, isAgain)
  }

  /**
   * Chooses a partition and queues the record for the leader of the partition. @returns false: the leader is not
   * known
   */
  #place(record: OutgoingRecord): boolean {
    const leaders = this.#cluster.topic(record.topic)?.leaders
    if (leaders === undefined) return false
    record.partition ??= this.#chosen(record, leaders) ?? this.#turn(record.topic, leaders)
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

  /** A function of the user that fails must not lose the record, so Kafka's own rule counts for it. */
  #chosen(record: OutgoingRecord, leaders: readonly number[]): number | undefined {
    try {
      return this.#choose(record, leaders)
    } catch (error) {
      this.#chosenWrong(error)
      return record.key === undefined ? undefined : partitionOf(record.key, leaders.length)
    }
  }

  /** The next partition in turn. Those that have no leader at the moment are left out, unless none has one. */
  #turn(topic: string, leaders: readonly number[]): number {
    let turn = this.#turns.get(topic) ?? -1
    for (let left = leaders.length; left > 0; left--) {
      turn = (turn + 1) % leaders.length
      if ((leaders[turn] ?? -1) >= 0) break
    }
    this.#turns.set(topic, turn)
    return turn
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
    await this.#cluster.ask(leader, 'main', (broker) => broker.produce(1, ACKNOWLEDGED_WITHIN, batches))
  }

  /**
   * Sends records again that were refused because of another record of their request: brokers only say which
   * partition an error belongs to.
   */
  async #failed(lane: Lane, records: readonly OutgoingRecord[], error: Error): Promise<void> {
    const codes = codesIn(error)
    const isMoving = codes.includes(Code.notLeader) || codes.includes(Code.unknownTopic)
    if (isUnreached(error) && this.#cluster.isConnected) return this.#again(lane, records, error)
    if (codes.length === 0 || !this.#cluster.isConnected)
      return this.#fail(records, { isMissing: false, error: lost(error) })
    if (records.length === 1 && !isMoving) return this.#fail(records, { isMissing: false, error })
    // A broker stores all records of a partition, or none of them.
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

  /**
   * Sends records again, to the brokers that lead their partitions now. Waiting records for the same partitions
   * follow behind them, so that the order stays.
   */
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

  /**
   * Resolves when the brokers have answered for all records that were sent before this call. @throws
   * {ConnectionError} the brokers are lost before they have answered
   */
  flush(): Promise<void> {
    if (this.#given === this.#settled) return Promise.resolve()
    return new Promise((resolve, reject) => this.#flushing.push({ until: this.#given, resolve, reject }))
  }

  /** Fails all waiting records, because the brokers are lost. */
  lost(): void {
    for (const { reject } of this.#flushing.splice(0)) reject(lost())
    const waiting = [...this.#unknown.values(), ...[...this.#lanes.values()].map((lane) => lane.waiting)]
    this.#unknown.clear()
    for (const lane of this.#lanes.values()) lane.waiting = []
    this.#fail(waiting.flat(), { isMissing: false, error: lost() })
  }
}

/** The key under which a record waits: its partition if one is chosen, otherwise its topic. */
function placeOf({ topic, partition }: Pick<OutgoingRecord, 'topic' | 'partition'>): string {
  return partition === undefined ? topic : `${topic} ${partition}`
}

function lost(cause?: Error): ConnectionError {
  return new ConnectionError('The connection to the Kafka brokers was lost', true, cause)
}

/** The partitions for which a broker has refused the records. */
export function refusedIn(error: unknown): Map<string, { readonly code: number; readonly offset: bigint }> {
  const { response } = Object(error) as { readonly response?: Produced }
  const refused = new Map<string, { readonly code: number; readonly offset: bigint }>()
  for (const { name, partitionResponses } of response?.responses ?? [])
    for (const { index, errorCode, baseOffset } of partitionResponses)
      if (errorCode !== 0) refused.set(`${name} ${index}`, { code: errorCode, offset: baseOffset })
  return refused
}

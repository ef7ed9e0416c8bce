/**
 * Stores records that must be stored before something else counts as done: copies of events, dead letters, pauses of
 * groups.
 */
import { NotStoredError } from '@elysia-microservices/transport/kit'
import { soon } from '../connection/brokers.ts'
import type { Cluster, WantedTopic } from '../connection/cluster.ts'
import { Code, codesIn, isUnreached } from '../connection/errors.ts'
import type { ProducerId } from '../driver.ts'
import { writeRecord } from '../words/record.ts'
import { STORED_WITHIN, sequenceAfter } from './sequences.ts'

/** Milliseconds until a record is sent again of which nobody knows whether it is stored. */
const AGAIN_AFTER = 100
/** Most records under way to a cluster, each with a producer of its own, which the brokers remember. The others wait. */
const UNDER_WAY = 16

/** The content of a record. */
export interface Copy {
  readonly partition: number
  readonly key: Buffer | undefined
  /** `undefined`: the record deletes the earlier records with the same key. */
  readonly value: Buffer | undefined
  readonly headers?: Readonly<Record<string, string | undefined>>
}

/** A producer as the brokers know it. It has one record under way at a time. */
interface NumberedProducer extends ProducerId {
  /** The next sequence number, by topic and partition. */
  readonly sequences: Map<string, number>
}

/** The producers of a cluster, which are created as they are needed. */
class Producers {
  static readonly #all = new WeakMap<Cluster, Producers>()
  readonly #cluster: Cluster
  /** Those that have no record under way. */
  readonly #free: NumberedProducer[] = []
  #underWay = 0
  readonly #waiting: (() => void)[] = []

  private constructor(cluster: Cluster) {
    this.#cluster = cluster
  }

  static of(cluster: Cluster): Producers {
    let known = Producers.#all.get(cluster)
    if (known === undefined) {
      known = new Producers(cluster)
      Producers.#all.set(cluster, known)
    }
    return known
  }

  /** Sends a record by a producer of its own, as soon as one is free. */
  async use(send: (producer: NumberedProducer) => Promise<void>): Promise<void> {
    if (this.#underWay < UNDER_WAY) this.#underWay++
    else await new Promise<void>((resolve) => this.#waiting.push(resolve))
    try {
      const producer = this.#free.pop() ?? (await newProducer(this.#cluster))
      await send(producer)
      // After a failure nobody knows the next sequence number of the producer, so it is not used again.
      this.#free.push(producer)
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#underWay--
      else next()
    }
  }
}

/**
 * Stores a record in a topic, which is created if it is missing. Resolves when the record is stored. When the
 * confirmation is lost, the record is sent again with the same sequence number, so Kafka stores it once.
 * @param isWanted whether the record is still to be sent again. Default: until the brokers are lost
 * @throws {NotStoredError} the record is not stored, or it is not known whether it is
 */
export async function put(
  cluster: Cluster,
  topic: WantedTopic,
  copy: Copy,
  isWanted = () => cluster.isConnected
): Promise<void> {
  const { name } = topic
  try {
    if ((await cluster.lookUp(name)) === undefined) await cluster.ensure([topic])
    const partition = copy.partition % (cluster.topic(name)?.leaders.length ?? 1)
    const place = `${name} ${partition}`
    const records = [writeRecord(copy.key, copy.value, copy.headers)]
    await Producers.of(cluster).use(async (producer) => {
      const sequence = producer.sequences.get(place) ?? 0
      const batch = { topic: name, partition, records, timestamp: Date.now(), by: { ...producer, sequence } }
      const send = async () => {
        const leader = await cluster.leaderOf(name, partition)
        await cluster.ask(leader, 'main', (broker) => broker.produce(-1, STORED_WITHIN, [batch]))
      }
      await untilKnown(() => cluster.persist([name], send), isWanted)
      producer.sequences.set(place, sequenceAfter(sequence))
    })
  } catch (error) {
    throw new NotStoredError(`Kafka does not store a record in '${name}' now`, true, error)
  }
}

async function newProducer(cluster: Cluster): Promise<NumberedProducer> {
  const ask = () => cluster.askAny((broker) => broker.newProducerId())
  const { producerId, producerEpoch } = await cluster.persist([], ask)
  return { producerId, producerEpoch, sequences: new Map() }
}

/** Sends a record until it is known whether it is stored. @throws the record is refused, or not wanted any more */
async function untilKnown(send: () => Promise<void>, isWanted: () => boolean): Promise<void> {
  let mayBeStored = false
  for (;;) {
    try {
      return await send()
    } catch (error) {
      const codes = codesIn(error)
      if (codes.includes(Code.duplicateSequence)) return
      const isUnknown = codes.length === 0 ? !isUnreached(error) : codes.some((code) => UNKNOWN.has(code))
      mayBeStored ||= isUnknown
      const isRefused = codes.length > 0 && !isUnknown
      if (isRefused || !mayBeStored || !isWanted()) throw error
    }
    await soon(AGAIN_AFTER)
  }
}

/** Errors of a broker that has written the record, and does not know whether all replicas have. */
const UNKNOWN: ReadonlySet<number> = new Set([Code.timedOut, Code.replicasLeft])

/** Fetches records from the brokers that lead their partitions, as long as there is room for the records. */
import { type FetchedBytes, type Isolation, LATEST, type Partition, type Wanted } from '../driver.ts'
import { readBatches } from '../words/batch.ts'
import { grouped } from '../words/grouped.ts'
import type { Fetched } from '../words/record.ts'
import { soon } from './brokers.ts'
import type { Cluster } from './cluster.ts'
import { answeredWith, Code, responseOf } from './errors.ts'
import type { IdentifiedPartition } from './group.ts'
import { positionOf } from './positions.ts'

/**
 * Milliseconds that a broker waits for new records before it answers a fetch request with none. Shorter than the time
 * within which a broker must answer, and long, because each idle handler has a request of its own.
 */
const PATIENCE = 20_000
/** Milliseconds until a fetch request that has failed is repeated. */
const AGAIN_AFTER = 100

/** The records of one partition in the answer to a fetch request. */
export interface FetchedPartition extends IdentifiedPartition {
  readonly records: readonly Fetched[]
  /** The position behind the last record of the answer. */
  readonly next: bigint
  /** The position behind the last record of the partition, also of an open transaction. */
  readonly end: bigint
}

/** A partition that cannot be read on from its position. */
export interface GonePartition extends IdentifiedPartition {
  /** Whether the topic was deleted and created again. Otherwise, Kafka does not have the record to be read next. */
  readonly isNewTopic: boolean
  /** The position of the record to be read next. */
  readonly at: bigint
  /** Whether the partition is still read: it may be removed while the listener waits. */
  isRead(): boolean
}

/** Receives the records. */
export interface ReaderListener {
  /** Takes records. The reader gives no further records until the returned promise has settled. */
  receive(partitions: readonly FetchedPartition[]): void | Promise<void>
  /**
   * Is called when a partition cannot be read on from its position.
   * @returns the position from which to go on; `undefined`: the partition is not read any more
   */
  gone(partition: GonePartition): Promise<bigint | undefined>
  failed(error: unknown): void
}

interface Position extends Partition {
  /** The id that the brokers gave the topic: a topic that was deleted and created again has another id. */
  id: string | undefined
  next: bigint
}

/** Reads partitions, over connections that are used for nothing else. */
export class Reader {
  readonly #cluster: Cluster
  readonly #purpose: string
  readonly #listener: ReaderListener
  readonly #isolation: Isolation
  readonly #positions = new Map<string, Position>()
  /** Brokers to which a fetch request is under way. */
  readonly #asked = new Set<number>()
  /** Why nothing can be read from a broker at the moment. */
  readonly #failures = new Map<number, unknown>()
  readonly #hearNoMore: () => void
  /** Counts the changes to the set of partitions that are read. */
  #version = 0
  #receiving: Promise<void> = Promise.resolve()
  #isStopped = false

  /** @param purpose the key of the reader's connections; no other reader may use the same key */
  constructor(cluster: Cluster, purpose: string, isolation: Isolation, listener: ReaderListener) {
    this.#cluster = cluster
    this.#purpose = purpose
    this.#isolation = isolation
    this.#listener = listener
    this.#hearNoMore = cluster.onMoved((moved) => {
      for (const { topic } of this.#positions.values()) if (topic === moved) return this.#changed()
    })
  }

  /** Why one of the partitions cannot be read at the moment; `undefined`: all can be read. */
  get failure(): unknown {
    const [first] = this.#failures.values()
    return first
  }

  /** Reads a partition from a given position on. @param id the id of the topic in which the position is valid */
  add(topic: string, partition: number, next: bigint, id = this.#cluster.topic(topic)?.id): void {
    this.#positions.set(`${topic} ${partition}`, { topic, partition, id, next })
    this.#changed()
  }

  /** Reads only the records that a partition gets from now on. */
  async addLatest(topic: string, partition: number): Promise<void> {
    const next = await positionOf(this.#cluster, topic, partition, LATEST, this.#isolation)
    this.add(topic, partition, next)
  }

  /** Goes back to an earlier position, if the partition is still read. */
  back(topic: string, partition: number, next: bigint): void {
    const position = this.#positions.get(`${topic} ${partition}`)
    if (position !== undefined) position.next = next
  }

  /** Resolves when the listener has taken all records that were fetched so far. */
  received(): Promise<void> {
    return this.#receiving
  }

  /** Stops reading a partition. */
  remove(topic: string, partition: number): void {
    if (this.#positions.delete(`${topic} ${partition}`)) this.#changed()
  }

  /** Stops reading. Resolves when the listener has taken all records that were fetched. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#hearNoMore()
    this.#positions.clear()
    this.#changed()
    await this.#receiving
  }

  /** A broker can be reached again. */
  restored(): void {
    this.#changed()
  }

  #changed(): void {
    this.#version++
    for (const node of this.#asked) void this.#cluster.drop(node, this.#purpose).catch(() => {})
    // In a microtask, because several partitions may change in one turn of the event loop.
    queueMicrotask(() => {
      if (this.#isStopped) return
      for (const node of this.#byLeader().keys()) void this.#read(node)
    })
  }

  #byLeader(): Map<number, Position[]> {
    return grouped(
      this.#positions.values(),
      ({ topic, partition }) => this.#cluster.topic(topic)?.leaders[partition] ?? -1
    )
  }

  /** Sends fetch requests to one broker, one after the other. */
  async #read(node: number): Promise<void> {
    if (this.#asked.has(node)) return
    this.#asked.add(node)
    while (!this.#isStopped && this.#cluster.isConnected) {
      const positions = this.#byLeader().get(node)
      if (positions === undefined) break
      try {
        if (node === -1) await this.#findLeaders(positions)
        else if (await this.#isNew(positions)) continue
        else await this.#fetch(node, positions)
        this.#failures.delete(node)
      } catch (error) {
        if (this.#isStopped || !this.#cluster.isConnected) break
        this.#failures.set(node, error)
        this.#listener.failed(error)
        await soon(AGAIN_AFTER)
      }
    }
    this.#failures.delete(node)
    this.#asked.delete(node)
  }

  /** Asks for the leaders of partitions that have none. @throws {ConnectionError} no broker can be asked */
  async #findLeaders(positions: readonly Position[]): Promise<void> {
    await soon(AGAIN_AFTER)
    await this.#cluster.refresh([...new Set(positions.map(({ topic }) => topic))])
  }

  /**
   * Whether a topic was deleted and created again. The old position means nothing in the new topic, so the listener
   * is asked where to go on.
   */
  async #isNew(positions: readonly Position[]): Promise<boolean> {
    let isNew = false
    for (const position of positions) {
      if (!this.#isRead(position)) continue
      const id = this.#cluster.topic(position.topic)?.id
      position.id ??= id
      if (id === undefined || position.id === id) continue
      isNew = true
      await this.#gone(position, id)
    }
    return isNew
  }

  async #fetch(node: number, positions: readonly Position[]): Promise<void> {
    const version = this.#version
    const wanted = this.#wanted(positions)
    let answer: readonly FetchedBytes[]
    try {
      answer = await responseOf(
        this.#cluster.ask(node, this.#purpose, (broker) => broker.fetch(wanted, this.#isolation, PATIENCE))
      )
    } catch (error) {
      if (version === this.#version) throw error
      // The request was interrupted because the set of partitions that are read has changed.
      return
    }
    const { fetched, gone, moved, unreadable } = this.#take(answer, positions)
    // First of all the records: their positions have moved, and whatever follows here may fail.
    if (fetched.length > 0) await this.#deliver(fetched)
    for (const { position, topicId } of gone) if (this.#isRead(position)) await this.#gone(position, topicId)
    if (moved.size > 0) {
      await soon(AGAIN_AFTER)
      await this.#cluster.refresh([...moved])
    }
    if (unreadable !== undefined) throw unreadable
  }

  /** Gives records to the listener. Resolves when the listener has room for more. */
  async #deliver(fetched: Taken['fetched']): Promise<void> {
    // The answers of different brokers are taken one after the other: the listener may have to wait for room.
    const receiving = this.#receiving.then(() => {
      // While the answer waited, the partition may have gone to another member, and may even have come back with
      // another position.
      const read = fetched.filter(({ of }) => this.#isRead(of)).map(({ partition }) => partition)
      return this.#listener.receive(read)
    })
    this.#receiving = receiving.catch((error) => this.#listener.failed(error))
    await this.#receiving
  }

  #wanted(positions: readonly Position[]): Wanted[] {
    return [...grouped(positions, ({ id }) => id)].map(([id = '', of]) => ({
      topicId: id,
      partitions: of.map(({ partition, next }) => ({ partition, next }))
    }))
  }

  async #gone(position: Position, topicId: string): Promise<void> {
    const { topic, partition } = position
    const isNewTopic = position.id !== topicId
    const isRead = () => this.#isRead(position)
    const next = await this.#listener.gone({
      topic,
      topicId,
      partition,
      isNewTopic,
      at: position.next,
      isRead
    })
    if (next !== undefined) {
      position.next = next
      position.id = topicId
    } else if (isRead()) this.remove(topic, partition)
  }

  #isRead(position: Position): boolean {
    return this.#positions.get(`${position.topic} ${position.partition}`) === position
  }

  /** Reads an answer, and moves the positions behind its records. */
  #take(answer: readonly FetchedBytes[], asked: readonly Position[]): Taken {
    const taken: Taken = { fetched: [], gone: [], moved: new Set(), unreadable: undefined }
    for (const { topicId, partition, errorCode, bytes, end, aborted } of answer) {
      const position = asked.find((one) => one.id === topicId && one.partition === partition)
      if (position === undefined || !this.#isRead(position)) continue
      const { topic } = position
      if (errorCode === Code.offsetOutOfRange) taken.gone.push({ position, topicId })
      else if (errorCode !== 0) {
        taken.moved.add(topic)
        if (!MOVED.has(errorCode)) taken.unreadable = answeredWith(errorCode, `the topic '${topic}' is read`)
      } else if (bytes.length > 0) {
        try {
          const { records, next } = readBatches(bytes, Number(position.next), aborted)
          position.next = BigInt(next)
          // The broker fills its answer in the order of the request: the other partitions are the first of the next one.
          const key = `${topic} ${partition}`
          this.#positions.delete(key)
          this.#positions.set(key, position)
          const read = { topic, topicId, partition, records, next: position.next, end }
          taken.fetched.push({ of: position, partition: read })
        } catch (error) {
          taken.unreadable = error
        }
      }
    }
    return taken
  }
}

/** Errors of a partition that has another leader by now, or whose topic was deleted. */
const MOVED: ReadonlySet<number> = new Set([
  Code.unknownTopic,
  Code.leaderNotAvailable,
  Code.notLeader,
  Code.fencedLeader,
  Code.unknownLeader,
  Code.unknownTopicId
])

/** The content of an answer to a fetch request. */
interface Taken {
  readonly fetched: { readonly of: Position; readonly partition: FetchedPartition }[]
  /** Partitions whose wanted records Kafka has deleted. */
  readonly gone: { readonly position: Position; readonly topicId: string }[]
  /** Topics with a partition that may have another leader. */
  readonly moved: Set<string>
  /** Why the records of a partition cannot be read. */
  unreadable: unknown
}

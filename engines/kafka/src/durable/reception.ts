/**
 * How the events of one durable handler arrive: one reader for the topic of its pattern and one for the topics of
 * retries, so that neither waits for room of the other.
 */
import { isForbidden } from '../connection/errors.ts'
import type { Committed, Group } from '../connection/group.ts'
import { positionOf } from '../connection/positions.ts'
import { type FetchedPartition, type GonePartition, Reader } from '../connection/reader.ts'
import { EARLIEST, Isolation, LATEST, type Partition } from '../driver.ts'
import { HEADER } from '../words/headers.ts'
import type { Handling } from './handling.ts'
import type { Partitions } from './partition.ts'
import { KafkaEvent } from './stored.ts'

export interface ReceptionOptions {
  readonly group: Group
  readonly pattern: string
  /** The group as users name it. */
  readonly groupName: string
  readonly partitions: Partitions
  readonly handling: Handling
  failed(error: unknown): void
  /** The topic of a partition was deleted and created again. */
  recreated(partition: Partition): void
  /**
   * Kafka does not have the events that were to be read next.
   * @param at the position of the first of them @param end the end of the partition @param next where reading goes on
   */
  lost(partition: Partition, at: bigint, end: bigint, next: bigint): void
}

/** Reads the partitions that are assigned to this process. */
export class Reception {
  readonly #options: ReceptionOptions
  readonly #fresh: Reader
  readonly #again: Reader

  constructor(options: ReceptionOptions) {
    this.#options = options
    this.#fresh = this.#newReader('fresh')
    this.#again = this.#newReader('again')
  }

  #newReader(of: 'fresh' | 'again'): Reader {
    const { group, failed } = this.#options
    const { cluster } = group
    return new Reader(cluster, `${of} ${group.name}`, cluster.isolation, {
      receive: (fetched) => this.#receive(fetched, of),
      gone: (partition) => this.#gone(partition),
      failed
    })
  }

  /** Why the topic of the pattern, or a topic of retries, may not be read. */
  get forbidden(): 'fresh' | 'again' | undefined {
    if (isForbidden(this.#fresh.failure)) return 'fresh'
    return isForbidden(this.#again.failure) ? 'again' : undefined
  }

  #readerOf(topic: string): Reader {
    return topic === this.#options.pattern ? this.#fresh : this.#again
  }

  add({ topic, topicId, partition, next }: Committed): void {
    this.#readerOf(topic).add(topic, partition, next, topicId)
  }

  remove(partitions: readonly Partition[]): void {
    for (const { topic, partition } of partitions) this.#readerOf(topic).remove(topic, partition)
  }

  restored(): void {
    this.#fresh.restored()
    this.#again.restored()
  }

  async stop(): Promise<void> {
    await Promise.all([this.#fresh.stop(), this.#again.stop()])
  }

  async #receive(fetched: readonly FetchedPartition[], of: 'fresh' | 'again'): Promise<void> {
    const { groupName, partitions, handling } = this.#options
    for (const { topic, partition, records, next, end } of fetched) {
      const source = partitions.get(topic, partition)
      if (source === undefined) continue
      source.limit = Number(end)
      for (const one of records) {
        const event = new KafkaEvent(source, one)
        if (!source.tracker.came(event.offset)) continue
        if (event.isFree && one.header(HEADER.group) !== groupName) handling.done(event)
        else handling.add(event)
      }
      source.tracker.passed(Number(next))
      if (source.tracker.isDirty) partitions.commitSoon()
    }
    await handling.begin(of)
  }

  /** Is called when Kafka has deleted the events to be read next, or their whole topic, which was created again. */
  async #gone({
    topic,
    topicId,
    partition,
    isNewTopic,
    at,
    isRead
  }: GonePartition): Promise<bigint | undefined> {
    const { group, partitions, handling } = this.#options
    const { cluster } = group
    if (isNewTopic) {
      this.#options.recreated({ topic, partition })
      return undefined
    }
    const next = await positionOf(cluster, topic, partition, EARLIEST)
    const end = await positionOf(cluster, topic, partition, LATEST, Isolation.uncommitted)
    // Meanwhile the partition may have gone to another process.
    if (!isRead()) return next
    // The known position and the done events belong to a part of the topic that no longer exists.
    const sources = partitions.of([{ topic, partition }])
    partitions.remove(sources)
    handling.drop(sources)
    const committed = { topic, topicId, partition, next, metadata: '' }
    partitions.add(committed)
    this.add(committed)
    this.#options.lost({ topic, partition }, at, end, next)
    return next
  }
}

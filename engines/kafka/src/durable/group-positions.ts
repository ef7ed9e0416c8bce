/**
 * Where a group goes on in partitions in which Kafka has no position of the group: at the start of a new group, in new
 * partitions, and when positions were lost.
 */
import {
  type Clock,
  type DurableRoute,
  type Logger,
  quietLog,
  shown,
  skippedAtStart
} from '@elysia-microservices/transport/kit'
import type { Cluster } from '../connection/cluster.ts'
import type { Before, Group } from '../connection/group.ts'
import { positionsOf } from '../connection/positions.ts'
import { EARLIEST } from '../driver.ts'
import { retriesOf } from '../words/names.ts'
import { type Handled, readName, sayWhatIsLeftBehind } from './left-behind.ts'
import type { NotedPositions } from './noted.ts'
import { beginningsOf } from './start.ts'

/** Milliseconds between notes of the positions of a group. */
const NOTED_EVERY = 3_600_000

interface GroupPositionsOptions {
  /** The group as users name it. */
  readonly group: string
  readonly pattern: string
  readonly start: DurableRoute['durable']['start']
  readonly noted: NotedPositions
  readonly logger: Logger
  readonly clock: Clock
}

/** The positions of one group in the topics of one pattern. */
export class GroupPositions {
  readonly #group: Group
  readonly #options: GroupPositionsOptions
  /** Cancels the next note. */
  #cancel: (() => void) | undefined
  #isStopped = false

  constructor(group: Group, options: GroupPositionsOptions) {
    this.#group = group
    this.#options = options
  }

  /** Commits a first position in each partition of the pattern's topic in which the group has none. */
  async begin(): Promise<void> {
    const { pattern } = this.#options
    const isNew = this.#options.noted.of(this.#group.name) === undefined
    let isFirst = false
    await this.#group.begin([pattern], (topic, partitions, before) => {
      isFirst = isNew && before === 'none'
      return this.beginnings(topic, partitions, before)
    })
    // A new group that begins with the first event gets all of them.
    if (isFirst && this.#options.start !== 'all') await this.#sayWhatOthersHave()
  }

  /**
   * The first positions in partitions in which the group has none.
   * @param before the positions of the group in the topic of this name that are known to Kafka. Default: the group has
   * begun already, so partitions without a position are newer than the group, and nothing in them was read
   */
  async beginnings(
    topic: string,
    partitions: readonly number[],
    before: Before = 'some'
  ): Promise<ReadonlyMap<number, bigint>> {
    const { start, pattern, noted } = this.#options
    const cluster = this.#cluster
    const note = noted.of(this.#group.name)
    const id = cluster.topic(topic)?.id ?? ''
    const known = note?.positions[id] ?? {}
    const lost = partitions.filter((partition) => known[partition] !== undefined)
    const isNew = before === 'none' && note === undefined
    if (topic === pattern && note !== undefined && lost.length > 0) this.#sayLost(note.at)
    else if (topic === pattern && !isNew && before !== 'some') this.#sayNewTopic()
    const begun = await beginningsOf(cluster, topic, partitions, isNew ? start : 'all')
    if (isNew && start === 'new' && topic === pattern) await this.#saySkipped(begun)
    for (const partition of lost) begun.set(partition, BigInt(known[partition] ?? 0))
    return begun
  }

  /** Notes the positions from now on, and again and again. */
  async noteFromNowOn(): Promise<void> {
    this.#noteLater()
    await this.note()
  }

  #noteLater(): void {
    if (this.#isStopped) return
    this.#cancel?.()
    this.#cancel = this.#options.clock.after(NOTED_EVERY, () => {
      this.#noteLater()
      void this.note()
    })
  }

  /** Notes where the group stands. */
  async note(): Promise<void> {
    const { pattern, noted, logger, group } = this.#options
    const cluster = this.#cluster
    if (!cluster.isConnected) return
    const topics = [pattern, ...retriesOf(pattern)].flatMap((name) => cluster.topic(name) ?? [])
    try {
      const committed = await this.#group.committed(
        topics.flatMap(({ name: topic, id: topicId, leaders }) =>
          leaders.map((_, partition) => ({ topic, topicId, partition }))
        )
      )
      const known = noted.of(this.#group.name)?.positions ?? {}
      const positions = topics.map(({ id, leaders }) => {
        const its = committed.filter(({ topicId }) => topicId === id)
        // In topics of retries, a group commits its first position only when it has handled an event.
        const next = new Map(its.map(({ partition, next }) => [partition, Number(next)]))
        const of = [...leaders.keys()].map((partition) => [
          partition,
          next.get(partition) ?? known[id]?.[partition]
        ])
        return [id, Object.fromEntries(of)]
      })
      await noted.note(cluster, this.#group.name, Object.fromEntries(positions))
    } catch (error) {
      if (cluster.isConnected)
        quietLog(logger).warn(
          `note ${pattern}`,
          `The positions of the group '${group}' for '${shown(pattern)}' cannot be noted in Kafka; if Kafka forgets them while no process of the group runs, the group starts as a new one`,
          error
        )
    }
  }

  stop(): void {
    this.#isStopped = true
    this.#cancel?.()
  }

  get #cluster(): Cluster {
    return this.#group.cluster
  }

  /** @param begun the positions at which the new group begins */
  async #saySkipped(begun: ReadonlyMap<number, bigint>): Promise<void> {
    const { group, pattern, logger } = this.#options
    const first = await positionsOf(this.#cluster, pattern, [...begun.keys()], EARLIEST)
    let count = 0n
    for (const [partition, position] of begun) count += position - (first.get(partition) ?? position)
    if (count > 0n) logger.warn(skippedAtStart(group, pattern, count))
  }

  async #sayWhatOthersHave(): Promise<void> {
    const { group, pattern, noted, logger } = this.#options
    const others = noted.names.filter(
      (name) => readName(name).pattern === pattern && name !== this.#group.name
    )
    const line = (other: Handled, events: bigint) =>
      `Up to ${events} events '${shown(pattern)}' wait for the group '${shown(other.group)}', which no process handles at the moment; the group '${group}' is new and does not get them. If a service was renamed, give its handler durable.group '${shown(other.group)}'.`
    await sayWhatIsLeftBehind(this.#cluster, others, line, logger)
  }

  #sayLost(at: Date): void {
    const { group, pattern, logger } = this.#options
    logger.error(
      `Kafka has lost the positions of the group '${group}' for '${shown(pattern)}': it keeps them for offsets.retention.minutes after the last process of a group has stopped. The group goes on at the positions noted on ${at.toISOString()}: no event is skipped, and events that were done after this time run again`
    )
  }

  #sayNewTopic(): void {
    const { group, pattern, logger } = this.#options
    logger.error(
      `The topic '${shown(pattern)}' was deleted and created again while no process of the group '${group}' ran; the group goes on with the first event of the new topic`
    )
  }
}

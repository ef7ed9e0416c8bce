/**
 * One durable handler of a service in one process: the partitions assigned to it, their events, and the retries and
 * dead letters of failed events.
 */
import { type Consumer, repeat } from '@elysia-microservices/engine'
import {
  type Dispatcher,
  type DurableFigures,
  type DurableRoute,
  DurableWorker,
  endedWithin,
  type Logger,
  quietLog,
  shown,
  systemClock,
  viaOf
} from '@elysia-microservices/transport/kit'
import type { Cluster } from '../connection/cluster.ts'
import { isForbidden } from '../connection/errors.ts'
import { type Committed, Group } from '../connection/group.ts'
import type { KafkaConnection } from '../connection/kafka-connection.ts'
import { Member } from '../connection/member.ts'
import { positionOf, positionsOf } from '../connection/positions.ts'
import { type FetchedPartition, type GonePartition, Reader } from '../connection/reader.ts'
import { EARLIEST, Isolation, LATEST, type Partition } from '../driver.ts'
import { grouped } from '../words/grouped.ts'
import { HEADER } from '../words/headers.ts'
import { groupAt, retriesOf } from '../words/names.ts'
import { bury, putAside } from './failed.ts'
import { GroupPositions } from './group-positions.ts'
import type { NotedPositions } from './noted.ts'
import { Partitions, type Source } from './partition.ts'
import { checkStart } from './start.ts'
import { KafkaEvent, messageOf } from './stored.ts'
import { WaitingEvents } from './waiting.ts'

/** Milliseconds between checks of how many events are stored and not handled, while somebody reads the figures. */
const LOOK = 5_000
/** Milliseconds after a reading of the figures, for which they are kept up to date. */
const READ_FOR = 120_000
/** Milliseconds until an event whose copy for a retry cannot be stored runs again in this process. */
const AGAIN_HERE = 1_000
/** Milliseconds within which the positions are noted when the handler stops. */
const NOTED_WITHIN = 2_000
/** Attempts to commit the last done events when the handler stops. */
const COMMITS_AT_THE_END = 20

export interface ConsumerOptions {
  readonly dispatcher: Dispatcher
  readonly route: DurableRoute
  readonly pattern: string
  readonly group: string
  /** Whether the group is paused, by the last record about it. */
  readonly isPaused: () => boolean
  readonly noted: NotedPositions
  readonly logger: Logger
}

/**
 * Most events whose copies for a retry are being stored: a handler that fails at once may be faster than Kafka, and each
 * of these events is in memory.
 */
const MOST_BEING_PUT = 256

/** Receives the events of one group for one pattern. */
export class KafkaConsumer implements Consumer<KafkaConnection> {
  readonly group: string
  /** The name of the group in Kafka. */
  readonly name: string
  readonly #options: ConsumerOptions
  readonly #worker: DurableWorker<KafkaEvent>
  readonly #partitions: Partitions
  readonly #waiting = new WaitingEvents(() => this.#feed())
  #isFeeding = false
  /** Called when there is room again: they let the readers go on. */
  #resume: (() => void)[] = []
  /**
   * Events whose attempt has ended and whose copy, for a retry or as a dead letter, is being stored. They are done
   * when the copy is stored.
   */
  readonly #beingPut = new Map<KafkaEvent, Promise<void>>()
  /** Partitions that go to another process as soon as none of their events runs here. */
  #leaving: { readonly sources: ReadonlySet<Source>; readonly free: () => void }[] = []
  readonly #stopLooking: () => void
  #connection: KafkaConnection | undefined
  #member: Member | undefined
  #positions: GroupPositions | undefined
  #readers: { readonly fresh: Reader; readonly again: Reader } | undefined
  #redeliveries = 0
  #readAt = Number.NEGATIVE_INFINITY
  /** Why Kafka does not let this process be a member of the group. */
  #refusal: unknown
  #isStopped = false

  /** @throws {OptionError} the option `start` names an invalid position */
  constructor(options: ConsumerOptions) {
    const { route, pattern, group, logger, dispatcher } = options
    this.#options = options
    this.group = group
    this.name = groupAt(group, pattern)
    checkStart(pattern, route.durable.start)
    this.#worker = new DurableWorker<KafkaEvent>(
      route.durable,
      {
        run: (event) => dispatcher.event(messageOf(event, group, viaOf(route.route, route.durable.group))),
        isOurs: ({ source }) => source.isOurs,
        // Behind an event of a partition that was lost and has come back, there may be events with its key that are ours:
        // Kafka delivers them only once.
        letGo: (event) => {
          if (event.source.isOurs) this.#worker.add(event)
        },
        acknowledge: (event) => this.#done(event),
        retry: (event, delay) => {
          const put = this.#retry(event, delay).finally(() => {
            this.#beingPut.delete(event)
            this.#left()
          })
          this.#beingPut.set(event, put)
        },
        bury: (event, reason) => this.#bury(event, reason),
        left: () => this.#left()
      },
      systemClock,
      logger
    )
    this.#partitions = new Partitions({
      pattern,
      canCommit: () => this.#member !== undefined && this.#connection?.isConnected === true,
      commit: async (positions) => this.#member?.commit(positions),
      failed: (error) => {
        if (this.#connection?.isConnected === true) this.#failed(error)
      }
    })
    this.#stopLooking = repeat(() => {
      if (systemClock.now() - this.#readAt < READ_FOR) this.#look()
    }, LOOK)
  }

  get running(): number {
    return this.#worker.running
  }

  /**
   * The figures, as Kafka has told them last. Kafka is asked only while they are read: otherwise, each handler with nothing
   * to do would cost it requests.
   */
  get figures(): DurableFigures {
    const now = systemClock.now()
    if (now - this.#readAt > LOOK) this.#look()
    this.#readAt = now
    const { retries, deadLetters } = this.#worker.figures
    const { pattern, group, route, isPaused } = this.#options
    const unavailable = this.#unavailable
    return {
      pattern,
      group,
      lag: this.#partitions.lag,
      redeliveries: this.#redeliveries + (route.durable.ordered ? retries : 0),
      deadLetters,
      isPaused: isPaused(),
      ...(unavailable !== undefined && { unavailable })
    }
  }

  // ── the group ────────────────────────────────────────────────────────────────────────────────────────

  async start(connection: KafkaConnection): Promise<void> {
    if (this.#member !== undefined) return
    const { pattern, group, route } = this.#options
    const { cluster } = connection
    const { name } = this
    this.#connection = connection
    await cluster.ensure([{ name: pattern }])
    const kafkaGroup = new Group(cluster, name)
    const positions = new GroupPositions(kafkaGroup, { ...this.#options, start: route.durable.start })
    this.#positions = positions
    await positions.begin()
    const readers = {
      fresh: this.#newReader('fresh', name),
      again: this.#newReader('again', name)
    }
    this.#readers = readers
    const topics = [pattern, ...retriesOf(pattern)]
    const member = new Member(
      kafkaGroup,
      topics,
      {
        assigned: (partitions) => this.#assigned(partitions),
        revoked: (partitions) => this.#revoked(partitions),
        lost: (partitions) => {
          this.#forget(partitions)
          this.#options.logger.warn(
            `Kafka has removed this process from the group '${group}' for '${shown(pattern)}': events that run here also run in another process`
          )
        },
        deleted: (partitions) => this.#deleted(partitions),
        failed: (error) => this.#failed(error)
      },
      (topic, partitions) => positions.beginnings(topic, partitions)
    )
    this.#member = member
    try {
      await member.join()
    } catch (error) {
      // `start` is called again, and then makes another member.
      this.#member = undefined
      await Promise.all([member.leave(), readers.fresh.stop(), readers.again.stop()])
      throw error
    }
    await positions.noteFromNowOn()
  }

  #newReader(of: 'fresh' | 'again', name: string): Reader {
    return new Reader(this.#cluster, `${of} ${name}`, this.#cluster.isolation, {
      receive: (fetched) => this.#receive(fetched, of),
      gone: (partition) => this.#gone(partition),
      failed: (error) => this.#log(error)
    })
  }

  /** Kafka has refused something to this process as a member of its group. */
  #failed(error: unknown): void {
    if (isForbidden(error)) this.#refusal = error
    this.#log(error)
  }

  #log(error: unknown): void {
    const { pattern, logger } = this.#options
    quietLog(logger).error(`durable ${pattern}`, `${this.#what} cannot be received at the moment`, error)
  }

  get #what(): string {
    const { pattern, group } = this.#options
    return `The durable event '${shown(pattern)}' of the group '${group}'`
  }

  /** Why no events can be received, if only a user can change that. */
  get #unavailable(): string | undefined {
    if (this.#refusal !== undefined)
      return `${this.#what} is not received: Kafka does not let this user read the topic or join the group`
    if (isForbidden(this.#readers?.fresh.failure))
      return `${this.#what} is not received: Kafka does not let this user read the topic`
    if (isForbidden(this.#readers?.again.failure))
      return `${this.#what} is not retried: Kafka does not let this user read the topics of retries`
    return undefined
  }

  #readerOf(topic: string): Reader | undefined {
    return topic === this.#options.pattern ? this.#readers?.fresh : this.#readers?.again
  }

  #assigned(partitions: readonly Committed[]): void {
    this.#refusal = undefined
    for (const committed of partitions) {
      const { topic, topicId, partition, next } = committed
      this.#partitions.add(committed)
      if (!this.#isStopped) this.#readerOf(topic)?.add(topic, partition, next, topicId)
    }
    if (!this.#isStopped) this.#worker.open()
  }

  /**
   * Partitions go to other processes: their waiting events are dropped here, and their running handlers are waited
   * for.
   */
  async #revoked(partitions: readonly Partition[]): Promise<void> {
    const sources = this.#partitions.of(partitions)
    for (const { topic, partition } of partitions) this.#readerOf(topic)?.remove(topic, partition)
    this.#drop(sources)
    await new Promise<void>((free) => {
      this.#leaving.push({ sources, free })
      this.#freeLeft()
    })
    await this.#partitions.commitAll(sources)
    this.#partitions.remove(sources)
  }

  #freeLeft(): void {
    if (this.#leaving.length === 0) return
    const leaving = new Set(this.#leaving.flatMap(({ sources }) => [...sources]))
    // An event that has failed meanwhile pauses here. The next process runs it instead.
    this.#worker.release(false, ({ source }) => leaving.has(source))
    const busy = new Set([...this.#worker.held, ...this.#beingPut.keys()].map(({ source }) => source))
    this.#leaving = this.#leaving.filter(({ sources, free }) => {
      const isBusy = [...sources].some((source) => busy.has(source))
      if (!isBusy) free()
      return isBusy
    })
  }

  /** Removes partitions that belong to other processes already. */
  #forget(partitions: readonly Partition[]): void {
    const sources = this.#partitions.of(partitions)
    this.#partitions.remove(sources)
    for (const { topic, partition } of partitions) this.#readerOf(topic)?.remove(topic, partition)
    this.#drop(sources)
  }

  /** Drops the events of some partitions that have not begun. */
  #drop(sources: ReadonlySet<Source>): void {
    this.#waiting.drop(sources)
    this.#worker.release(false, ({ source }) => sources.has(source))
    this.#feed()
  }

  /** The topic of partitions was deleted and created again. */
  #deleted(partitions: readonly Partition[]): void {
    if (this.#partitions.of(partitions).size === 0) return
    this.#forget(partitions)
    const { pattern, group, logger } = this.#options
    logger.error(
      `The topic '${shown(pattern)}', or one of its topics of retries, was deleted and created again; the group '${group}' goes on with the first event of the new topic`
    )
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
    if (isNewTopic) {
      // Only the coordinator knows which process of the group reads this partition of the new topic.
      this.#deleted([{ topic, partition }])
      this.#member?.giveUp({ topic, partition })
      return undefined
    }
    const cluster = this.#cluster
    const next = await positionOf(cluster, topic, partition, EARLIEST)
    const end = await positionOf(cluster, topic, partition, LATEST, Isolation.uncommitted)
    // Meanwhile the partition may have gone to another process.
    if (!isRead()) return next
    // The known position and the done events belong to a part of the topic that no longer exists.
    this.#forget([{ topic, partition }])
    this.#partitions.add({ topic, topicId, partition, next, metadata: '' })
    this.#readerOf(topic)?.add(topic, partition, next, topicId)
    const { pattern, group, logger } = this.#options
    logger.error(
      at > end
        ? `Kafka has lost the end of '${shown(topic)}': the group '${group}' stands at position ${at} of partition ${partition} for '${shown(pattern)}', and the partition ends at ${end}; the group goes on at position ${next}, and handles again what is left`
        : `Events of '${shown(topic)}' that the group '${group}' had not handled were deleted by Kafka, because it keeps them no longer; the group goes on at position ${next} of partition ${partition}`
    )
    return next
  }

  // ── events ───────────────────────────────────────────────────────────────────────────────────────────

  async #receive(fetched: readonly FetchedPartition[], of: 'fresh' | 'again'): Promise<void> {
    const { group } = this.#options
    for (const { topic, partition, records, next, end } of fetched) {
      const source = this.#partitions.get(topic, partition)
      if (source === undefined) continue
      source.limit = Number(end)
      for (const one of records) {
        const event = new KafkaEvent(source, one)
        if (!source.tracker.came(event.offset)) continue
        if (!event.isFree) this.#waiting.add(event)
        else if (one.header(HEADER.group) !== group) this.#done(event)
        else this.#waiting.addLater(event, event.due - Date.now())
      }
      source.tracker.passed(Number(next))
      if (source.tracker.isDirty) this.#partitions.commitSoon()
    }
    this.#feed()
    while (!this.#isStopped && this.#waiting.isFull(of))
      await new Promise<void>((resolve) => this.#resume.push(resolve))
  }

  get #mayFeed(): boolean {
    if (this.#options.isPaused() || this.#isStopped) return false
    return this.#worker.room > 0 && this.#beingPut.size < MOST_BEING_PUT
  }

  /**
   * Gives the worker as many events as it has room for. An event that ends at once makes room and calls this method
   * again: the running loop already sees the new room.
   */
  #feed(): void {
    if (this.#isFeeding) return
    this.#isFeeding = true
    try {
      while (this.#mayFeed) {
        const event = this.#waiting.next()
        if (event === undefined) break
        if (event.attempt > 1) this.#redeliveries++
        this.#worker.add(event)
      }
    } finally {
      this.#isFeeding = false
    }
    for (const resume of this.#resume.splice(0)) resume()
  }

  #left(): void {
    this.#freeLeft()
    this.#feed()
  }

  #done(event: KafkaEvent): void {
    event.source.tracker.done(event.offset)
    this.#partitions.commitSoon()
  }

  /** Stores a copy in the topic of retries, for this group alone. Then the event itself counts as done. */
  async #retry(event: KafkaEvent, delay: number): Promise<void> {
    const { group, pattern, logger, route } = this.#options
    // The process is stopping: an ordered event is delivered again at its place.
    if (route.durable.ordered) return
    try {
      await putAside(this.#cluster, group, event, delay, () => this.#mayStore(event))
      this.#done(event)
    } catch (error) {
      if (!this.#mayStore(event)) return
      quietLog(logger).warn(
        'retry',
        `A durable event '${shown(pattern)}' cannot be stored for a retry; this process retries the event itself`,
        error
      )
      event.attempt++
      this.#waiting.addLater(event, Math.max(delay, AGAIN_HERE))
    }
  }

  async #bury(event: KafkaEvent, reason: string): Promise<void> {
    await bury(this.#cluster, this.#options.group, event, reason, () => this.#mayStore(event))
    this.#done(event)
  }

  /** Whether a copy of an event may be stored: otherwise, the next process runs the event again. */
  #mayStore(event: KafkaEvent): boolean {
    return !this.#isStopped && event.source.isOurs
  }

  get #cluster(): Cluster {
    return (this.#connection as KafkaConnection).cluster
  }

  #look(): void {
    this.#lookNow().catch(() => {})
  }

  /**
   * Asks for the ends of the partitions: while nothing is read for lack of room, no answer to a fetch request tells
   * them. Events behind an open transaction count as waiting.
   */
  async #lookNow(): Promise<void> {
    if (this.#connection?.isConnected !== true) return
    const { cluster } = this.#connection
    for (const [topic, of] of grouped(this.#partitions, (source) => source.topic))
      for (const [partition, end] of await positionsOf(
        cluster,
        topic,
        of.map(({ partition }) => partition),
        LATEST,
        Isolation.uncommitted
      )) {
        const source = this.#partitions.get(topic, partition)
        if (source !== undefined) source.limit = Number(end)
      }
  }

  // ── its end ──────────────────────────────────────────────────────────────────────────────────────────

  /** Applies that the group was paused or resumed. @returns the id of this process's member of the group, or none */
  paused(): string[] {
    // Events that have not begun go back to the front of the queue.
    if (this.#options.isPaused()) this.#waiting.putBack(this.#worker.release())
    this.#feed()
    return this.#member === undefined ? [] : [this.#member.id]
  }

  /** Stops the worker, because the brokers are lost: when they are back, other processes may own the partitions. */
  lost(): void {
    this.#worker.close()
  }

  restored(): void {
    this.#readers?.fresh.restored()
    this.#readers?.again.restored()
    this.#member?.beat(() => this.#worker.open())
    this.#partitions.commitSoon()
  }

  async leave(): Promise<void> {
    await this.stop()
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#stopLooking()
    const { ended } = this.#worker.stop()
    this.#waiting.stop()
    this.#feed()
    await Promise.all([this.#readers?.fresh.stop(), this.#readers?.again.stop()])
    await ended
    await Promise.all(this.#beingPut.values())
    await this.#partitions.commitAll(new Set(this.#partitions), COMMITS_AT_THE_END)
    this.#partitions.stop()
    this.#positions?.stop()
    // A broker that stands still must not hold up the end.
    await endedWithin(Promise.resolve(this.#positions?.note()), NOTED_WITHIN)
    await this.#member?.leave()
  }

  cut(): void {
    this.#isStopped = true
    this.#stopLooking()
    this.#partitions.stop()
    this.#positions?.stop()
    void this.#member?.leave()
  }
}

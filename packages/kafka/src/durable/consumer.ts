/** One durable handler of a service in one process: its partitions, its events, what becomes of those that fail. */
import type { Consumer } from '@elysia-microservices/transport/engine'
import {
  type Dispatcher,
  type DurableFigures,
  type DurableRoute,
  DurableWorker,
  LONGEST_TIME,
  type Logger,
  OptionError,
  quietLog,
  shown,
  systemClock,
  viaOf
} from '@elysia-microservices/transport/kit'
import { Code, codesIn } from '../connection/errors.ts'
import type { KafkaConnection } from '../connection/kafka-connection.ts'
import { type Committed, Group, Member, type Partition } from '../connection/member.ts'
import { EARLIEST, type FetchedPartition, LATEST, positionsOf, Reader } from '../connection/reader.ts'
import { HEADER } from '../words/headers.ts'
import { retriesOf, retryOf } from '../words/names.ts'
import { put } from './copies.ts'
import { keyOfDead, topicForDead } from './dead-letters.ts'
import { groupAt } from './groups.ts'
import { headersOfCopy, KafkaEvent, messageOf, readPosition } from './stored.ts'
import { Tracker } from './tracker.ts'

/** Milliseconds until what is done is committed: a process that is killed has it run again elsewhere. */
const COMMIT_AFTER = 50
/** Milliseconds between looks at how much there is to do. */
const LOOK = 5_000
/** Events on their way again that wait here for their time; beyond that no more are read. */
const MOST_WAITING = 1_000
/** Milliseconds until an event that cannot be put aside runs again here. */
const AGAIN_HERE = 1_000

export interface ConsumerOptions {
  readonly dispatcher: Dispatcher
  readonly route: DurableRoute
  readonly pattern: string
  readonly group: string
  /** Whether the group is paused, by the last word about it. */
  readonly isPaused: () => boolean
  readonly logger: Logger
}

/** A partition that is ours. */
interface Owned extends Partition {
  readonly tracker: Tracker
  /** Where it ends, as far as is known. */
  limit: number
}

/** Takes the events of one group for one pattern. */
export class KafkaConsumer implements Consumer<KafkaConnection> {
  readonly group: string
  readonly #options: ConsumerOptions
  readonly #worker: DurableWorker<KafkaEvent>
  readonly #owned = new Map<string, Owned>()
  /** Events that have come and for which the worker has had no room; those on their way again. */
  #fresh: KafkaEvent[] = []
  #again: KafkaEvent[] = []
  /** How many of `#fresh` have gone: shifting each would move all others. */
  #taken = 0
  #isFeeding = false
  /** Events whose time has not come, with what ends the waiting. */
  readonly #waiting = new Map<KafkaEvent, () => void>()
  /** Let readers go on. */
  #resume: (() => void)[] = []
  /** Partitions that go to others once nothing of them runs here. */
  #leaving: { readonly trackers: ReadonlySet<Tracker>; readonly free: () => void }[] = []
  readonly #look: ReturnType<typeof setInterval>
  #connection: KafkaConnection | undefined
  #member: Member | undefined
  #readers: { readonly fresh: Reader; readonly again: Reader } | undefined
  #committing: ReturnType<typeof setTimeout> | undefined
  #redeliveries = 0
  #unavailable: string | undefined
  #isStopped = false

  /** @throws {OptionError} its start is no position of Kafka's */
  constructor(options: ConsumerOptions) {
    const { route, pattern, group, logger, dispatcher } = options
    this.#options = options
    this.group = group
    const { start } = route.durable
    if (typeof start === 'object' && 'after' in start && readPosition(start.after) === undefined)
      throw new OptionError(
        'options.durable.start',
        `The durable event '${pattern}' wants to begin behind '${shown(String(start.after))}', which is no position of Kafka's; give one that publish() has given`
      )
    this.#worker = new DurableWorker<KafkaEvent>(
      route.durable,
      {
        run: (event) => dispatcher.event(messageOf(event, group, viaOf(route.route, route.durable.group))),
        isOurs: (event) => this.#isOurs(event),
        letGo: () => {},
        acknowledge: (event) => this.#done(event),
        retry: (event, delay) => void this.#retry(event, delay),
        bury: (event, reason) => this.#bury(event, reason),
        left: () => this.#left()
      },
      systemClock,
      logger
    )
    this.#look = setInterval(() => void this.#lookNow().catch(() => {}), LOOK)
    this.#look.unref?.()
  }

  get running(): number {
    return this.#worker.running
  }

  get figures(): DurableFigures {
    const { retries, deadLetters } = this.#worker.figures
    const { pattern, group, route, isPaused } = this.#options
    let lag: number | undefined
    for (const { tracker, limit } of this.#owned.values())
      lag = (lag ?? 0) + tracker.open + Math.max(0, limit - tracker.end)
    return {
      pattern,
      group,
      lag,
      redeliveries: this.#redeliveries + (route.durable.ordered ? retries : 0),
      deadLetters,
      isPaused: isPaused(),
      ...(this.#unavailable !== undefined && { unavailable: this.#unavailable })
    }
  }

  // ── the group ────────────────────────────────────────────────────────────────────────────────────────

  async start(connection: KafkaConnection): Promise<void> {
    if (this.#member !== undefined) return
    const { pattern, route, group } = this.#options
    const { cluster } = connection
    this.#connection = connection
    await cluster.ensure([{ name: pattern }])
    const name = groupAt(group, pattern)
    const kafkaGroup = new Group(cluster, name)
    await kafkaGroup.begin([pattern], (topic, partitions, isNew) => this.#begin(topic, partitions, isNew))
    this.#readers = { fresh: this.#newReader(`fresh ${name}`), again: this.#newReader(`again ${name}`) }
    const topics = [pattern, ...retriesOf(pattern, route.durable.retry.attempts)]
    this.#member = new Member(
      kafkaGroup,
      topics,
      {
        assigned: (partitions) => this.#assigned(partitions),
        revoked: (partitions) => this.#revoked(partitions),
        lost: (partitions) => {
          this.#forget(partitions)
          this.#options.logger.warn(
            `The group '${group}' has gone on without this process with '${shown(pattern)}': events that run here run elsewhere, too`
          )
        },
        failed: (error) => this.#failed(error)
      },
      // The group is there, so this partition is newer than it; so is a topic of events on their way again.
      (topic, partitions) => positionsOf(cluster, topic, partitions, EARLIEST)
    )
    await this.#member.join()
  }

  #newReader(purpose: string): Reader {
    const { cluster } = this.#connection as KafkaConnection
    return new Reader(cluster, purpose, {
      receive: (fetched) => this.#receive(fetched),
      gone: (topic, partition) => this.#gone(topic, partition),
      failed: (error) => this.#failed(error)
    })
  }

  #failed(error: unknown): void {
    const { pattern, group, logger } = this.#options
    const what = `The durable event '${shown(pattern)}' of the group '${group}'`
    if (codesIn(error).some((code) => code === Code.topicAuthorization || code === Code.groupAuthorization))
      this.#unavailable = `${what} is not received: Kafka does not let this user read it`
    quietLog(logger).error(`durable ${pattern}`, `${what} cannot be received at the moment`, error)
  }

  /** Where a group begins. */
  async #begin(topic: string, partitions: readonly number[], isNew: boolean): Promise<Map<number, bigint>> {
    const { cluster } = this.#connection as KafkaConnection
    const { start } = this.#options.route.durable
    const at = (time: bigint) => positionsOf(cluster, topic, partitions, time)
    if (!isNew || start === 'all') return at(EARLIEST)
    const latest = await at(LATEST)
    if (start === 'new') return latest
    const after = 'after' in start ? readPosition(start.after) : undefined
    const since = 'since' in start ? start.since.getTime() : (after?.timestamp ?? 0)
    const positions = await at(BigInt(Math.max(0, since)))
    // Nothing is as new as that.
    for (const [partition, next] of positions)
      if (next < 0n) positions.set(partition, latest.get(partition) ?? 0n)
    if (after !== undefined && positions.has(after.partition))
      positions.set(after.partition, BigInt(after.offset + 1))
    return positions
  }

  #readerOf(topic: string): Reader | undefined {
    return topic === this.#options.pattern ? this.#readers?.fresh : this.#readers?.again
  }

  #assigned(partitions: readonly Committed[]): void {
    this.#unavailable = undefined
    for (const { topic, partition, next, metadata } of partitions) {
      const tracker = new Tracker(Number(next), metadata)
      this.#owned.set(`${topic} ${partition}`, { topic, partition, tracker, limit: 0 })
      if (!this.#isStopped) this.#readerOf(topic)?.add(topic, partition, next)
    }
    if (!this.#isStopped) this.#worker.open()
  }

  /** Partitions are to go to others: what has not begun does, and what runs is waited for. */
  async #revoked(partitions: readonly Partition[]): Promise<void> {
    const owned = partitions.flatMap(({ topic, partition }) => this.#owned.get(`${topic} ${partition}`) ?? [])
    const trackers = new Set(owned.map(({ tracker }) => tracker))
    for (const { topic, partition } of partitions) this.#readerOf(topic)?.remove(topic, partition)
    this.#drop(trackers)
    await new Promise<void>((free) => {
      this.#leaving.push({ trackers, free })
      this.#freeLeft()
    })
    await this.#commit().catch(() => {})
    for (const { topic, partition } of partitions) this.#owned.delete(`${topic} ${partition}`)
  }

  #freeLeft(): void {
    if (this.#leaving.length === 0) return
    const busy = new Set([...this.#worker.held].map(({ source }) => source.tracker))
    this.#leaving = this.#leaving.filter(({ trackers, free }) => {
      const isBusy = [...trackers].some((tracker) => busy.has(tracker))
      if (!isBusy) free()
      return isBusy
    })
  }

  /** Partitions are others' already. */
  #forget(partitions: readonly Partition[]): void {
    const trackers = new Set<Tracker>()
    for (const { topic, partition } of partitions) {
      const key = `${topic} ${partition}`
      const tracker = this.#owned.get(key)?.tracker
      if (tracker !== undefined) trackers.add(tracker)
      this.#owned.delete(key)
      this.#readerOf(topic)?.remove(topic, partition)
    }
    this.#drop(trackers)
  }

  /** Drops what has not begun of some partitions. */
  #drop(trackers: ReadonlySet<Tracker>): void {
    const stays = ({ source }: KafkaEvent) => !trackers.has(source.tracker)
    this.#compact(true)
    this.#fresh = this.#fresh.filter(stays)
    this.#again = this.#again.filter(stays)
    for (const [event, end] of this.#waiting) {
      if (stays(event)) continue
      end()
      this.#waiting.delete(event)
    }
    // In the order of their coming.
    for (const event of this.#worker.release()) if (stays(event)) this.#worker.add(event)
    this.#feed()
  }

  /** What was to be read next is not kept any more. */
  async #gone(topic: string, partition: number): Promise<bigint> {
    const { cluster } = this.#connection as KafkaConnection
    const next = (await positionsOf(cluster, topic, [partition], EARLIEST)).get(partition) ?? 0n
    // What was known of positions is not of these.
    this.#forget([{ topic, partition }])
    this.#owned.set(`${topic} ${partition}`, {
      topic,
      partition,
      tracker: new Tracker(Number(next)),
      limit: 0
    })
    this.#readerOf(topic)?.add(topic, partition, next)
    const { pattern, group, logger } = this.#options
    logger.error(
      `Events of '${shown(pattern)}' that the group '${group}' had not handled are not kept any more, or their topic was deleted and made again; it goes on at ${next} of partition ${partition}`
    )
    return next
  }

  // ── events ───────────────────────────────────────────────────────────────────────────────────────────

  async #receive(fetched: readonly FetchedPartition[]): Promise<void> {
    const { pattern, group } = this.#options
    for (const { topic, partition, records, next, end } of fetched) {
      const owned = this.#owned.get(`${topic} ${partition}`)
      if (owned === undefined) continue
      const source = { topic, partition, pattern, tracker: owned.tracker }
      owned.limit = Number(end)
      for (const one of records) {
        const event = new KafkaEvent(source, one)
        if (!owned.tracker.came(event.offset)) continue
        if (!event.isFree) this.#fresh.push(event)
        else if (one.header(HEADER.group) !== group) this.#done(event)
        else this.#wait(event)
      }
      owned.tracker.passed(Number(next))
      if (owned.tracker.isDirty) this.#commitSoon()
    }
    this.#feed()
    while (
      !this.#isStopped &&
      (this.#fresh.length > this.#taken || this.#waiting.size + this.#again.length > MOST_WAITING)
    )
      await new Promise<void>((resolve) => this.#resume.push(resolve))
  }

  #wait(event: KafkaEvent, delay = event.due - Date.now()): void {
    if (delay <= 0) return void this.#again.push(event)
    const due = () => {
      this.#waiting.delete(event)
      this.#again.push(event)
      this.#feed()
    }
    this.#waiting.set(event, systemClock.after(Math.min(delay, LONGEST_TIME), due))
  }

  /** Gives the worker what it has room for. An event that ends at once makes room within, which is seen here. */
  #feed(): void {
    if (this.#isFeeding) return
    this.#isFeeding = true
    try {
      while (!this.#options.isPaused() && !this.#isStopped && this.#worker.room > 0) {
        const event = this.#again.shift() ?? this.#next()
        if (event === undefined) break
        if (event.attempt > 1) this.#redeliveries++
        this.#worker.add(event)
      }
    } finally {
      this.#isFeeding = false
      this.#compact()
    }
    for (const resume of this.#resume.splice(0)) resume()
  }

  #next(): KafkaEvent | undefined {
    const event = this.#fresh[this.#taken]
    if (event !== undefined) this.#taken++
    return event
  }

  /** Not at each event: it copies what is left. */
  #compact(isNeeded = this.#taken >= this.#fresh.length / 2): void {
    if (!isNeeded) return
    this.#fresh = this.#fresh.slice(this.#taken)
    this.#taken = 0
  }

  #isOurs({ source }: KafkaEvent): boolean {
    return this.#owned.get(`${source.topic} ${source.partition}`)?.tracker === source.tracker
  }

  #left(): void {
    this.#freeLeft()
    this.#feed()
  }

  #done(event: KafkaEvent): void {
    event.source.tracker.done(event.offset)
    this.#commitSoon()
  }

  /** A copy waits in another topic, for this group alone; then the event itself is done. */
  async #retry(event: KafkaEvent, delay: number): Promise<void> {
    const { group, pattern, logger } = this.#options
    const due = Date.now() + delay
    try {
      await this.#copy({ name: retryOf(pattern, event.attempt) }, event, {
        [HEADER.group]: group,
        [HEADER.attempts]: String(event.attempt),
        [HEADER.due]: String(Math.ceil(due))
      })
      this.#done(event)
    } catch (error) {
      if (this.#isStopped || !this.#isOurs(event)) return
      quietLog(logger).warn(
        'retry',
        `A durable event '${shown(pattern)}' cannot be put aside; it waits here`,
        error
      )
      event.attempt++
      this.#wait(event, Math.max(delay, AGAIN_HERE))
    }
  }

  async #bury(event: KafkaEvent, reason: string): Promise<void> {
    const said = {
      [HEADER.group]: this.#options.group,
      [HEADER.attempts]: String(event.attempt),
      [HEADER.reason]: reason.slice(0, 2_000)
    }
    const topic = topicForDead(this.#options.pattern)
    try {
      await this.#copy(topic, event, said, keyOfDead())
    } catch (error) {
      // With what is said of it, it is larger than the brokers take.
      if (!codesIn(error).includes(Code.messageTooLarge)) throw error
      await this.#copy(topic, event, { ...said, [HEADER.leftOut]: 'data' }, keyOfDead(), Buffer.alloc(0))
    }
    this.#done(event)
  }

  async #copy(
    topic: Parameters<typeof put>[1],
    event: KafkaEvent,
    said: Readonly<Record<string, string>>,
    key = event.fetched.key,
    value = event.fetched.value
  ): Promise<void> {
    const keyed = event.key === undefined ? {} : { [HEADER.key]: event.key }
    await put((this.#connection as KafkaConnection).cluster, topic, {
      partition: event.source.partition,
      key,
      value,
      headers: headersOfCopy(event, { ...keyed, ...said })
    })
  }

  // ── positions ────────────────────────────────────────────────────────────────────────────────────────

  #commitSoon(): void {
    this.#committing ??= setTimeout(() => {
      this.#commit()
        .catch((error) => {
          if (this.#connection?.isConnected === true) this.#failed(error)
        })
        .finally(() => {
          this.#committing = undefined
          if ([...this.#owned.values()].some(({ tracker }) => tracker.isDirty)) this.#commitSoon()
        })
    }, COMMIT_AFTER)
  }

  async #commit(): Promise<void> {
    const member = this.#member
    if (member === undefined || this.#connection?.isConnected !== true) return
    const dirty = [...this.#owned.values()].filter(({ tracker }) => tracker.isDirty)
    const positions = dirty.map(({ topic, partition, tracker }) => {
      tracker.isDirty = false
      return { topic, partition, next: BigInt(tracker.lowest), metadata: tracker.beside }
    })
    try {
      await member.commit(positions)
    } catch (error) {
      for (const { tracker } of dirty) tracker.isDirty = true
      throw error
    }
  }

  /** Hears how much there is to do, where nothing is read because there is no room. */
  async #lookNow(): Promise<void> {
    if (this.#connection?.isConnected !== true) return
    const { cluster } = this.#connection
    const topics = new Map<string, number[]>()
    for (const { topic, partition } of this.#owned.values())
      topics.set(topic, [...(topics.get(topic) ?? []), partition])
    for (const [topic, partitions] of topics)
      for (const [partition, end] of await positionsOf(cluster, topic, partitions, LATEST)) {
        const owned = this.#owned.get(`${topic} ${partition}`)
        if (owned !== undefined) owned.limit = Number(end)
      }
  }

  // ── its end ──────────────────────────────────────────────────────────────────────────────────────────

  /** The group was paused, or resumed. @returns the ids of its members here */
  paused(): string[] {
    // What has not begun waits in front of all else.
    if (this.#options.isPaused()) {
      const released = this.#worker.release()
      this.#compact(true)
      this.#again = [...released.filter(({ isFree }) => isFree), ...this.#again]
      this.#fresh = [...released.filter(({ isFree }) => !isFree), ...this.#fresh]
    }
    this.#feed()
    return this.#member === undefined ? [] : [this.#member.id]
  }

  /** Others may have our partitions by the time that there are brokers again. */
  lost(): void {
    this.#worker.close()
  }

  restored(): void {
    this.#readers?.fresh.restored()
    this.#readers?.again.restored()
    this.#member?.beat(() => this.#worker.open())
    this.#commitSoon()
  }

  async leave(): Promise<void> {
    await this.stop()
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    clearInterval(this.#look)
    const { ended } = this.#worker.stop()
    for (const end of this.#waiting.values()) end()
    this.#waiting.clear()
    this.#feed()
    await Promise.all([this.#readers?.fresh.stop(), this.#readers?.again.stop()])
    await ended
    await this.#commit().catch(() => {})
    clearTimeout(this.#committing)
    await this.#member?.leave()
  }

  cut(): void {
    this.#isStopped = true
    clearInterval(this.#look)
    clearTimeout(this.#committing)
    void this.#member?.leave()
  }
}

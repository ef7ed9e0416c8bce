/**
 * The events of one durable handler in one process, from their arrival to their end: they wait for room, run, are stored
 * for a retry or as dead letters, and count as done.
 */
import type { ConsumerInit } from '@elysia-microservices/engine'
import { type Clock, DurableWorker, quietLog, shown } from '@elysia-microservices/transport/kit'
import type { Cluster } from '../connection/cluster.ts'
import { bury, putAside } from './failed.ts'
import type { Partitions, Source } from './partition.ts'
import { type KafkaEvent, messageOf } from './stored.ts'
import { WaitingEvents } from './waiting.ts'

/** Milliseconds until an event whose copy for a retry cannot be stored runs again in this process. */
const AGAIN_HERE = 1_000
/**
 * Most events whose copies for a retry are being stored: a handler that fails at once may be faster than Kafka, and each
 * of these events is in memory.
 */
const MOST_BEING_PUT = 256

export interface HandlingOptions extends ConsumerInit {
  readonly clock: Clock
  /** Whether no event may begin: the group is paused, by the last record about it, or the service has not started yet. */
  readonly isPaused: () => boolean
  readonly partitions: Partitions
  /** The brokers that this process is connected to. */
  readonly cluster: () => Cluster
}

/** Runs events. */
export class Handling {
  readonly #options: HandlingOptions
  readonly #worker: DurableWorker<KafkaEvent>
  readonly #waiting: WaitingEvents
  /** Called when there is room again: they let the readers go on. */
  #resume: (() => void)[] = []
  /**
   * Events whose attempt has ended and whose copy, for a retry or as a dead letter, is being stored. They are done
   * when the copy is stored.
   */
  readonly #beingPut = new Map<KafkaEvent, Promise<void>>()
  /** Partitions that go to another process as soon as none of their events runs here. */
  #leaving: { readonly sources: ReadonlySet<Source>; readonly free: () => void }[] = []
  #redeliveries = 0
  #isStopped = false

  constructor(options: HandlingOptions) {
    const { dispatcher, route, group, via, clock, logger } = options
    this.#options = options
    this.#waiting = new WaitingEvents(() => this.#feed(), clock)
    this.#worker = new DurableWorker<KafkaEvent>(
      route.durable,
      {
        run: (event) => dispatcher.event(messageOf(event, group, via)),
        isOurs: ({ source }) => source.isOurs,
        // Behind an event of a partition that was lost and has come back, there may be events with its key that are ours:
        // Kafka delivers them only once.
        letGo: (event) => {
          if (event.source.isOurs) this.#worker.add(event)
        },
        acknowledge: (event) => this.done(event),
        pauses: (event) => this.#failed(event),
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
      clock,
      logger
    )
  }

  get running(): number {
    return this.#worker.running
  }

  get figures(): DurableWorker<KafkaEvent>['figures'] {
    return this.#worker.figures
  }

  /** Events that came for a further attempt. */
  get redeliveries(): number {
    return this.#redeliveries
  }

  // ── events ───────────────────────────────────────────────────────────────────────────────────────────

  /** Adds an event that has arrived; it begins with the next `begin`. */
  add(event: KafkaEvent): void {
    if (event.isFree) this.#waiting.addLater(event, event.waits(this.#options.clock.now()))
    else this.#waiting.add(event)
  }

  /** Lets events begin. Resolves when there is room for further ones. @param of which reader has given them */
  async begin(of: 'fresh' | 'again'): Promise<void> {
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
   * again, but no deeper: the worker begins the next event only when it comes back.
   */
  #feed(): void {
    while (this.#mayFeed) {
      const event = this.#waiting.next()
      if (event === undefined) break
      // Another process may have run it, or this one before the group was paused.
      event.attempt = Math.max(event.attempt, 1 + event.source.tracker.failures(event.offset))
      if (event.attempt > 1) this.#redeliveries++
      this.#worker.add(event)
    }
    for (const resume of this.#resume.splice(0)) resume()
  }

  #left(): void {
    this.#freeLeft()
    this.#feed()
  }

  /** An event has ended here, or is not for this group. */
  done(event: KafkaEvent): void {
    event.source.tracker.done(event.offset)
    this.#options.partitions.commitSoon()
  }

  /** The event has failed and no copy says so: the next process counts from what is committed beside the position. */
  #failed(event: KafkaEvent): void {
    if (!event.source.isOurs) return
    event.source.tracker.failed(event.offset, event.attempt)
    this.#options.partitions.commitSoon()
  }

  /** Stores a copy in the topic of retries, for this group alone. Then the event itself counts as done. */
  async #retry(event: KafkaEvent, delay: number): Promise<void> {
    const { group, pattern, logger, route, cluster, clock } = this.#options
    // The process is stopping: an ordered event is delivered again at its place.
    if (route.durable.ordered) return this.#failed(event)
    // Another process has the partition, and runs the event itself: with a copy, the event would run twice.
    if (!event.source.isOurs) return
    try {
      await putAside(cluster(), group, event, clock.now(), delay, () => this.#mayStore(event))
      this.done(event)
    } catch (error) {
      if (!this.#mayStore(event)) return
      quietLog(logger).warn(
        'retry',
        `A durable event '${shown(pattern)}' cannot be stored for a retry; this process retries the event itself`,
        error
      )
      this.#failed(event)
      event.attempt++
      this.#waiting.addLater(event, Math.max(delay, AGAIN_HERE))
    }
  }

  async #bury(event: KafkaEvent, reason: string): Promise<void> {
    if (!event.source.isOurs) return
    const { cluster, group } = this.#options
    await bury(cluster(), group, event, reason, () => this.#mayStore(event))
    this.done(event)
  }

  /** Whether a copy of an event may be stored: otherwise, the next process runs the event again. */
  #mayStore(event: KafkaEvent): boolean {
    return !this.#isStopped && event.source.isOurs
  }

  // ── partitions that go ───────────────────────────────────────────────────────────────────────────────

  /** Drops the events of some partitions that have not begun. */
  drop(sources: ReadonlySet<Source>): void {
    this.#waiting.drop(sources)
    this.#worker.release(false, ({ source }) => sources.has(source))
    this.#feed()
  }

  /** Drops the events of some partitions that have not begun. Resolves when no other event of them runs here. */
  async release(sources: ReadonlySet<Source>): Promise<void> {
    this.drop(sources)
    await new Promise<void>((free) => {
      this.#leaving.push({ sources, free })
      this.#freeLeft()
    })
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

  // ── its life ─────────────────────────────────────────────────────────────────────────────────────────

  /** Events may begin. */
  open(): void {
    if (!this.#isStopped) this.#worker.open()
  }

  /** No event begins until `open`. */
  close(): void {
    this.#worker.close()
  }

  /** The group was paused or resumed, or the service has started. */
  paused(): void {
    // Events that have not begun go back to the front of the queue.
    if (this.#options.isPaused()) this.#waiting.putBack(this.#worker.release())
    this.#feed()
  }

  /** Starts no further event. `ended` resolves when all events that run have ended, and their copies are stored. */
  stop(): { readonly ended: Promise<void> } {
    this.#isStopped = true
    const { ended } = this.#worker.stop()
    this.#waiting.stop()
    this.#feed()
    return { ended: this.#ended(ended) }
  }

  async #ended(running: Promise<void>): Promise<void> {
    await running
    await Promise.all(this.#beingPut.values())
  }

  /** Stores no copy any more. */
  cut(): void {
    this.#isStopped = true
  }
}

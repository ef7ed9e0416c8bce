/** One durable handler of a service in one process: its streams, its group, and its events. */
import {
  type Consumer,
  type ConsumerInit,
  figuresOf,
  Recovery,
  repeat,
  whyTooOld
} from '@elysia-microservices/engine'
import {
  type DurableFigures,
  DurableWorker,
  hasWildcards,
  systemClock
} from '@elysia-microservices/transport/kit'
import type { RedisConnection } from '../connection/redis-connection.ts'
import type { DurableStorage } from '../options/durable-options.ts'
import { againOf, GROUPS, STREAMS, streamOf, timeOf, turnOf } from '../words/keys.ts'
import { readableError } from './errors.ts'
import { deadLetterOf, messageOf, type RedisEvent } from './event.ts'
import { Feed } from './feed.ts'
import type { LostFeed } from './feed-owner.ts'
import { checkDurable, type Groups } from './groups.ts'
import { NestEvents } from './nest-events.ts'
import type { Rounds, Watched } from './rounds.ts'

/** Characters of received events, beyond which no more events are requested. */
const MOST_HELD = 32 * 1024 * 1024

export interface ConsumerOptions extends ConsumerInit {
  readonly storage: DurableStorage
  /** Identifies this process among the processes of a group. */
  readonly process: string
  readonly rounds: Rounds
  /** The streams and groups, over the current connection. */
  readonly groups: () => Groups
}

/** Receives the events of one group for one pattern. */
export class RedisConsumer implements Consumer<RedisConnection> {
  readonly #options: ConsumerOptions
  readonly #isWide: boolean
  readonly #worker: DurableWorker<RedisEvent>
  readonly #recovery: Recovery
  /** The feeds by stream. */
  readonly #feeds = new Map<string, Feed>()
  readonly #again: Feed
  readonly #endKeeping: () => void
  /** Looks for new streams in turn with the streams of all handlers; only for a pattern with wildcards. */
  readonly #discovery: Watched
  #connection: RedisConnection | undefined
  #from = '0-0'
  /** The connection over which what NestJS clients publish is heard. */
  #hearsNestOver: RedisConnection | undefined
  #isPaused = false
  #redeliveries = 0
  #hasBegun = false
  #isStopped = false
  /** The feed that may request events first. */
  #turn = 0
  #discovering: Promise<void> = Promise.resolve()

  /** @throws {OptionError} Redis cannot store such events with these options */
  constructor(options: ConsumerOptions) {
    this.#options = options
    const { dispatcher, route, pattern, group, via, storage, logger } = options
    this.#isWide = hasWildcards(pattern)
    checkDurable(pattern, route.durable, this.#isWide)
    this.#again = this.#newFeed(againOf(group, pattern), pattern, true)
    this.#worker = new DurableWorker<RedisEvent>(
      route.durable,
      {
        run: (event) => {
          event.begun = event.attempt
          return dispatcher.event(messageOf(event, group, via))
        },
        isOurs: ({ leasedUntil, isOnlyHere }) => isOnlyHere || performance.now() < leasedUntil,
        letGo: (event) => this.#letGo(event),
        acknowledge: (event) => this.#feedOf(event).acknowledge(event),
        whyNotLater: ({ source, place, isOnlyHere }, delay) =>
          source.isAgain || isOnlyHere ? undefined : whyTooOld(timeOf(place), storage.maxAge, delay),
        retry: (event, delay) => this.#feedOf(event).giveBack([event], delay),
        bury: (event, reason) => this.#bury(event, reason),
        left: () => this.#fill()
      },
      systemClock,
      logger
    )
    this.#recovery = new Recovery({
      what: `The durable event '${pattern}' of the group '${group}'`,
      logger,
      recover: () => this.#recover()
    })
    this.#endKeeping = repeat(() => this.#keep(), storage.ackWait / 4)
    this.#discovery = { group, stream: undefined, isQuiet: true, look: this.#discoverMore, wake() {} }
  }

  get running(): number {
    return this.#worker.running
  }

  get figures(): DurableFigures {
    const lags = this.#all.map(({ lag }) => lag)
    return figuresOf(this.#options, this.#worker.figures, {
      lag: lags.reduce((sum, lag) => (sum === undefined || lag === undefined ? undefined : sum + lag), 0),
      redeliveries: this.#redeliveries,
      isPaused: this.#isPaused,
      unavailable: this.#recovery.unavailable
    })
  }

  get #isOrdered(): boolean {
    return this.#options.route.durable.ordered
  }

  get #all(): Feed[] {
    return [...this.#feeds.values(), this.#again]
  }

  #feedOf({ source }: RedisEvent): Feed {
    return source.isAgain ? this.#again : (this.#feeds.get(source.stream) as Feed)
  }

  #newFeed(stream: string, pattern: string, isAgain: boolean): Feed {
    const { group, storage, logger, route, process, rounds } = this.#options
    const worker = () => this.#worker
    const again = () => this.#again
    const asked = () => this.#all.reduce((sum, feed) => sum + feed.asked, 0)
    const held = () => this.#all.reduce((sum, feed) => sum + feed.held.size, 0)
    const isIdle = () => !this.#hasBegun || this.#isStopped || this.#recovery.unavailable !== undefined
    return new Feed({
      source: { stream, pattern, isAgain },
      group,
      process,
      rounds,
      ackWait: storage.ackWait,
      maxAge: storage.maxAge,
      turn: route.durable.ordered && !isAgain ? turnOf(group, pattern) : undefined,
      logger,
      owner: {
        get room() {
          if (isAgain) return 1 - again().held.all.size
          return held() < MOST_HELD ? worker().room - asked() : 0
        },
        get isIdle() {
          return isIdle()
        },
        receive: (events, isAll) => this.#receive(events, isAll),
        fill: () => this.#fill(),
        uncertain: () => this.#uncertain(),
        paused: (isPaused) => {
          this.#isPaused = isPaused
        },
        gone: (feed, why) => this.#gone(feed, why)
      }
    })
  }

  /**
   * Creates streams and groups that are missing, and begins to receive events.
   * @throws {OptionError} the group exists with other settings
   */
  async start(connection: RedisConnection): Promise<void> {
    this.#connection = connection
    try {
      await this.#join()
    } catch (error) {
      throw readableError(error, `the durable event '${this.#options.pattern}'`)
    }
    await connection.hear(GROUPS, this.#wake)
    if (this.#isWide) {
      await connection.hear(STREAMS, this.#discoverMore)
      this.#options.rounds.add(this.#discovery)
    }
    if (this.#hearsNestOver !== connection) {
      this.#hearsNestOver = connection
      const { pattern, storage, logger } = this.#options
      await new NestEvents(connection, storage, logger).hear(pattern)
    }
    if (this.#isStopped) return
    this.#recovery.end()
    await Promise.all(this.#all.map((feed) => feed.start(connection)))
    this.#look()
  }

  begin(): void {
    this.#hasBegun = true
    this.#wakeAll(true)
    for (const feed of this.#all) void feed.look()
  }

  /**
   * Creates streams and groups that are missing, and goes on at the last position of the group. @returns a text with
   * the position
   */
  async #join(): Promise<string> {
    const { pattern, group, route } = this.#options
    const groups = this.#options.groups()
    const streams = await groups.streams(pattern, this.#isWide)
    const { from: begin, isNew: isNewGroup } = await groups.register(
      group,
      pattern,
      route.durable,
      this.#isWide
    )
    this.#from = begin
    if (isNewGroup && route.durable.start === 'new') await groups.sayWhatIsSkipped(streams, group)
    // Nobody waits for it: it only explains what is stored.
    if (isNewGroup) groups.sayWhatIsLeft(streams, group, route.durable.start === 'all').catch(() => {})
    let where = ''
    for (const stream of streams) {
      const key = streamOf(stream.pattern)
      const known = this.#feeds.get(key)
      const feed = known ?? this.#newFeed(key, stream.pattern, false)
      const isNew = known !== undefined && known.name !== stream.name
      if (isNew) feed.beginAgain()
      const from = known === undefined ? this.#from : feed.floor
      if (known === undefined) feed.floor = from
      const wasThere = !(await groups.join(key, group, from))
      // Before events are requested: from then on the server no longer knows that the group was behind.
      if (known === undefined && wasThere) await groups.sayWhatWasDeleted(stream, group)
      feed.name = stream.name
      this.#feeds.set(key, feed)
      if (where === '' || isNew)
        where = isNew ? `from the beginning of the stream '${key}', which is new` : `behind position ${from}`
    }
    const named = new Set(streams.map((stream) => streamOf(stream.pattern)))
    // This process goes on asking for the events of a stream that Redis has lost, so the stream must exist.
    for (const key of this.#feeds.keys()) if (!named.has(key)) await groups.join(key, group, '0-0')
    await groups.join(againOf(group, pattern), group, '0-0')
    return where
  }

  /** The server is lost. */
  lost(): void {
    if (this.#isOrdered) this.#worker.close()
  }

  /** There is a server again. */
  restored(): void {
    if (this.#isOrdered) this.#uncertain()
    this.#wakeAll(true)
    this.#look()
  }

  /** The connection is closed. `start` is called again with the next connection. */
  async leave(): Promise<void> {
    this.#recovery.end()
    this.#connection?.unhear(GROUPS, this.#wake)
    this.#connection?.unhear(STREAMS, this.#discoverMore)
    this.#options.rounds.remove(this.#discovery)
    await Promise.all(this.#all.map((feed) => feed.stop()))
  }

  /** Stops receiving. Events that have not begun go back at once. Resolves when all running handlers have ended. */
  async stop(): Promise<void> {
    this.#isStopped = true
    const { released, ended } = this.#worker.stop()
    const lost = released.filter(({ isOnlyHere }) => isOnlyHere).length
    if (lost > 0)
      this.#options.logger.error(
        `${lost} durable events '${this.#options.pattern}' were deleted with their stream, and had not been handled by this process before it stopped`
      )
    for (const event of released) this.#feedOf(event).giveBack([event], 0)
    await this.leave()
    await ended
    await Promise.all(this.#all.map((feed) => feed.leave()))
  }

  /** Stops waiting for running handlers: their events go to other processes. */
  cut(): void {
    this.#isStopped = true
    this.#endKeeping()
    for (const event of this.#worker.held) this.#feedOf(event).giveBack([event], 0)
    for (const feed of this.#all) void feed.leave()
  }

  // ── events ───────────────────────────────────────────────────────────────────────────────────────────

  #receive(events: readonly RedisEvent[], isAll: boolean): void {
    // Only for ordered handlers: events that have not begun are in this list again, behind the events that precede
    // them.
    if (isAll) this.#worker.close()
    if (isAll) this.#forget(this.#worker.release(true))
    for (const event of events) {
      if (this.#worker.held.has(event)) continue
      if (event.attempt > 1) this.#redeliveries++
      this.#feedOf(event).held.take(event)
      this.#worker.add(event)
    }
    if (isAll) this.#worker.open()
  }

  #forget(events: readonly RedisEvent[]): void {
    for (const event of events) this.#feedOf(event).held.drop(event)
  }

  #letGo(event: RedisEvent): void {
    if (this.#isOrdered && !event.isFree) {
      this.#forget([event])
      return this.#uncertain()
    }
    // While the lease of this process is valid, another process would have to wait for the event. After the lease,
    // Redis gives the event to another process anyway.
    if (performance.now() < event.leasedUntil) this.#feedOf(event).giveBack([event], 0)
    else this.#forget([event])
  }

  /**
   * Only for ordered handlers: no event begins until the server has listed all events that are not done, and has said
   * that this process is the one that handles them.
   */
  #uncertain(): void {
    this.#worker.close()
    this.#forget(this.#worker.release(true))
    for (const feed of this.#feeds.values()) feed.needsAll()
  }

  async #bury(event: RedisEvent, reason: string): Promise<void> {
    const connection = this.#connection as RedisConnection
    if (!connection.isConnected) throw new Error('Redis cannot be reached at the moment')
    const feed = this.#feedOf(event)
    await feed.bury(event, deadLetterOf(event, reason, this.#options.pattern))
    feed.acknowledge(event)
  }

  /** Lets the feeds request events, each time another one first: there may be room for the events of one only. */
  #fill(): void {
    const feeds = this.#all
    this.#turn = (this.#turn + 1) % feeds.length
    for (const feed of [...feeds.slice(this.#turn), ...feeds.slice(0, this.#turn)]) feed.fill()
  }

  readonly #wake = () => this.#wakeAll(false)

  #wakeAll(wantsAll: boolean): void {
    for (const feed of this.#all) feed.wake(wantsAll)
  }

  #keep(): void {
    for (const feed of this.#all) {
      void feed.keep((event) => this.#worker.isRunning(event))
      // Other processes may have stopped and left events. An ordered handler gets them with its turn.
      if (!this.#isStopped && !feed.isQuiet) feed.wake(!this.#isOrdered || feed === this.#again)
    }
  }

  #look(): void {
    for (const feed of this.#all) void feed.look()
    if (this.#isWide) this.#discoverMore()
  }

  /** Looks for new streams whose pattern matches the pattern of this handler. */
  readonly #discoverMore = () => {
    this.#discovering = this.#discovering.then(() => this.#discover()).catch(() => {})
  }

  async #discover(): Promise<void> {
    const connection = this.#connection
    if (connection?.isConnected !== true || this.#isStopped) return
    const { pattern, group } = this.#options
    const groups = this.#options.groups()
    for (const stream of await groups.streams(pattern, true)) {
      const key = streamOf(stream.pattern)
      if (this.#feeds.has(key) || this.#isStopped) continue
      const feed = this.#newFeed(key, stream.pattern, false)
      feed.name = stream.name
      feed.floor = this.#from
      await groups.join(key, group, this.#from)
      this.#feeds.set(key, feed)
      await feed.start(connection)
    }
  }

  // ── recovery ─────────────────────────────────────────────────────────────────────────────────────────

  /** Handles that a stream, or the group in it, is gone. The events in this process may be the only copies. */
  #gone(feed: LostFeed, why: string): void {
    if (this.#isStopped || this.#recovery.unavailable !== undefined) return
    for (const event of feed.held.all.values()) event.isOnlyHere = true
    const { group } = this.#options
    this.#recovery.begin(`the group '${group}' of the stream '${feed.source.stream}' is gone (${why})`)
  }

  async #recover(): Promise<string> {
    const connection = this.#connection as RedisConnection
    if (!connection.isConnected) throw new Error('Redis cannot be reached at the moment')
    const where = await this.#join()
    if (this.#isPaused) await connection.store.pause(this.#options.group, true)
    if (this.#isOrdered) this.#uncertain()
    // Events are requested only after the log says that the handler receives events again.
    setImmediate(() => this.#wakeAll(true))
    return where
  }
}

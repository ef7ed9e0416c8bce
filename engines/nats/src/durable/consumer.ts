/** One durable handler of a service in one process: receives the events of its group, also after a loss. */
import { type Consumer, figuresOf, Recovery, repeat } from '@elysia-microservices/engine'
import {
  type Clock,
  type DurableFigures,
  DurableWorker,
  hasWildcards,
  systemClock
} from '@elysia-microservices/transport/kit'
import type { NatsConnection } from '../connection/nats-connection.ts'
import type { Message } from '../driver.ts'
import { headersIn } from '../words/headers.ts'
import { ACK, nak } from './acknowledgements.ts'
import { bySequence, EarlyEvents } from './early.ts'
import { NatsEvent } from './event.ts'
import { type Group, type Groups, MAX_PENDING_IN_ORDER, runsIn, type Standpoint } from './groups.ts'
import { Handling, type HandlingOptions } from './handling.ts'
import { AGAIN_STREAM, type Subscription } from './names.ts'
import type { Pull } from './pull.ts'
import { Pulls, type PullsOwner } from './pulls.ts'
import type { Rounds } from './rounds.ts'
import { readPlace } from './stored.ts'
import { GroupWatch } from './watch.ts'

/** Bytes of received events, beyond which no more events are requested. */
const MOST_HELD = 32 * 1024 * 1024
export interface ConsumerOptions extends HandlingOptions {
  /** Asks for the state of the group from time to time. */
  readonly rounds: Rounds
  /** The consumer has started on a connection. */
  started?(): void
  /** Default: the system's clock. */
  readonly clock?: Clock
}

/** Receives the events of one group for one pattern. */
export class NatsConsumer implements Consumer<NatsConnection>, PullsOwner {
  readonly #options: ConsumerOptions
  readonly #worker: DurableWorker<NatsEvent>
  readonly #recovery: Recovery
  readonly #handling: Handling
  /** The subject of all events; `undefined`: the subject has wildcards. */
  readonly #exact: string | undefined
  readonly #endBeat: () => void
  #connection: NatsConnection | undefined
  readonly #watch = new GroupWatch(
    (why) => this.gone(why),
    () => this.#handling.held.count > 0
  )
  readonly #pulls: Pulls
  readonly #early: EarlyEvents
  /** Counts the connections to servers, so that deliveries of an earlier connection are recognised. */
  #epoch = 0
  #redeliveries = 0
  #hasBegun = false
  #isStopped = false
  /** Events that have come since then: they have never begun here. */
  readonly #late: NatsEvent[] = []

  constructor(options: ConsumerOptions) {
    this.#options = options
    const { route, pattern, group, ackWait, logger, clock = systemClock } = options
    this.#exact = hasWildcards(pattern) ? undefined : pattern
    const handling = new Handling({
      options,
      watch: this.#watch,
      worker: () => this.#worker,
      isRecovering: () => this.#recovery.unavailable !== undefined
    })
    this.#handling = handling
    this.#worker = new DurableWorker<NatsEvent>(
      route.durable,
      {
        run: (event) => handling.run(event),
        isOurs: ({ leasedUntil, isOnlyHere }) => isOnlyHere || performance.now() < leasedUntil,
        letGo: (event) => this.#letGo(event),
        acknowledge: (event) => handling.acknowledge(event),
        whyNotLater: (event, delay) => handling.whyNotLater(event, delay),
        retry: (event, delay) => handling.retry(event, delay),
        bury: (event, reason) => handling.bury(event, reason),
        left: () => this.#pulls.fill()
      },
      clock,
      logger
    )
    this.#early = new EarlyEvents(this.#worker, {
      info: async () => {
        const info = await this.#watch.ask()
        // The process that was served before may have stored more.
        if (info !== undefined) handling.runs.load(runsIn(info), info.ack_floor.stream_seq)
        return info
      },
      add: (event) => this.#add(event),
      countKnown: (last) =>
        handling.held.countKnown((this.#watch.main as Subscription).stream, last, this.#epoch),
      giveBack: (event) => handling.retry(event, 0),
      fill: () => this.#pulls.fill()
    })
    this.#pulls = new Pulls(this, logger, route.durable.ordered)
    this.#recovery = new Recovery({
      what: `The durable event '${pattern}' of the group '${group}'`,
      logger,
      recover: () => this.#recover()
    })
    this.#endBeat = repeat(() => handling.keep(), ackWait / 4)
    options.rounds.add(this.#watch)
  }

  get running(): number {
    return this.#worker.running
  }

  get figures(): DurableFigures {
    this.#watch.read()
    return figuresOf(this.#options, this.#worker.figures, {
      lag: this.#watch.lag,
      redeliveries: this.#redeliveries,
      isPaused: this.#watch.isPaused,
      unavailable: this.#recovery.unavailable
    })
  }

  get #isOrdered(): boolean {
    return this.#options.route.durable.ordered
  }

  /**
   * Creates streams and consumers that are missing, and begins to receive events.
   * @throws {OptionError} the stream or the consumer exists with other settings
   */
  async start(connection: NatsConnection): Promise<void> {
    await this.#start(connection)
    if (!this.#isStopped) this.#options.started?.()
  }

  async #start(connection: NatsConnection): Promise<void> {
    const { pattern, group, route } = this.#options
    const groups = this.#options.groups()
    const made = await groups.ensure(pattern, group, route.durable, this.#watch.standpoint)
    // A previous call of `start` may have come this far before it failed.
    if (this.#isStopped || (this.#connection === connection && this.#pulls.areRunning)) return
    this.#connection = connection
    this.#recovery.end()
    this.#join(connection, groups, made)
    await this.#watch.look()
  }

  #join(connection: NatsConnection, groups: Groups, group: Group): void {
    this.#settle(group.standpoint)
    this.#watch.join(connection, groups, group)
    this.#handling.connection = connection
    this.#handling.maxAge = group.maxAge
    this.#handling.runs.load(group.runs, group.standpoint.done)
    this.#early.pin = undefined
    if (this.#isOrdered) this.#early.begin()
    this.#pulls.start(connection, group)
  }

  begin(): void {
    this.#hasBegun = true
    this.#pulls.fill()
  }

  /** The connection has lost its server. */
  lost(): void {
    if (this.#isOrdered) this.#worker.close()
  }

  /** The connection has a server again. */
  restored(): void {
    this.#epoch++
    if (this.#isOrdered && this.#watch.main !== undefined) {
      this.#early.begin()
      // It is unknown whether this server knows that these events were delivered: it is asked to deliver them again, if
      // it still has the consumer.
      this.#early.giveBack()
    }
    this.#pulls.restored()
    void this.#watch.look()
  }

  /** The connection is closed. `start` is called again with the next connection. */
  async leave(): Promise<void> {
    this.#recovery.end()
    await this.#pulls.stop()
  }

  /**
   * Stops receiving. Events that have not begun go back to the server at once. @returns resolves when all running
   * handlers have ended
   */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#options.rounds.remove(this.#watch)
    this.#early.stop()
    const { released, ended } = this.#worker.stop()
    const early = this.#early.end()
    // They were not given to the worker, and so not compared with what other processes have stored.
    for (const event of early) if (event.isNoted) this.#handling.runs.came(event)
    const waiting = [...released, ...early]
    const lost = waiting.filter(({ isOnlyHere }) => isOnlyHere).length
    if (lost > 0)
      this.#options.logger.error(
        `${lost} durable events '${this.#options.pattern}' were deleted with their stream, and had not been handled by this process before it stopped`
      )
    const expired = waiting.filter((event) => this.#handling.whyNotLater(event, 0) !== undefined).length
    if (expired > 0)
      this.#options.logger.error(
        `${expired} durable events '${this.#options.pattern}' are older than their stream keeps events (maxAge: ${this.#handling.maxAge} ms), and had not been handled by this process before it stopped`
      )
    // The subscriptions end first: otherwise the server would deliver these events to this process again.
    const left = this.leave()
    await this.#noteRuns(waiting)
    for (const event of waiting) this.#handling.retry(event, 0)
    await left
    await Promise.all([this.#unpin(), this.#noteRuns(this.#late), ended.then(() => this.#watch.leave())])
  }

  /** The next process is not to take deliveries to this one for attempts, and reads this when it gets the events. */
  async #noteRuns(events: readonly NatsEvent[]): Promise<void> {
    if (this.#connection?.isConnected !== true) return
    await this.#handling.runs.leave(events.filter(({ isNoted }) => isNoted))
  }

  /** Gives up the pin, because the other processes of the group would wait for this process. */
  async #unpin(): Promise<void> {
    try {
      await this.#watch.unpin(this.#early.pin)
    } catch (error) {
      this.#options.logger.warn(
        `This process handles no more events '${this.#options.pattern}', and NATS could not be told: other processes of the group '${this.#options.group}' still wait for this process`,
        error
      )
    }
  }

  /** Stops waiting for running handlers: their events go to other processes. */
  cut(): void {
    this.#endBeat()
    for (const event of this.#worker.held) this.#handling.retry(event, 0)
  }

  // ── receiving ───────────────────────────────────────────────────────────────────────────────────────

  /** Published events that may be requested. */
  get room(): number {
    if (!this.#hasBegun) return 0
    const { held } = this.#handling
    // While it is not known which process has which events, all events that the server delivers must be accepted.
    if (this.#early.isWaiting) return MAX_PENDING_IN_ORDER - held.count
    return held.bytes < MOST_HELD ? this.#worker.room : 0
  }

  get roomForRedriven(): number {
    return this.#hasBegun ? 1 : 0
  }

  receive(message: Message, data: Uint8Array, pull?: Pull): void {
    const place = readPlace(message.reply ?? '')
    if (place === undefined) return
    const pin = pull !== undefined && this.#isOrdered ? headersIn(message)?.get('Nats-Pin-Id') : undefined
    if (pull !== undefined && pin !== undefined && pin !== this.#early.pin) {
      // Another process was served before this process, and may still have events that come before these events.
      this.#early.pin = pin
      pull.pin = pin
      this.#early.begin()
    }
    const handling = this.#handling
    const event = new NatsEvent(message, data, place, handling.leasedUntil, this.#epoch, this.#exact)
    if (this.#isStopped) return this.#receiveLate(event)
    if (place.deliveries > 1) this.#redeliveries++
    if (place.stream !== AGAIN_STREAM) this.#watch.lag = place.pending + handling.held.count
    const outcome = handling.held.take(event)
    if (outcome === 'done') handling.send(event, ACK)
    // The event was delivered again, because its handler was slow or an acknowledgement was lost.
    if (outcome !== 'taken') return this.#pulls.fill()
    if (!this.#early.isWaiting || place.stream === AGAIN_STREAM) this.#add(event)
    else this.#early.add(event)
  }

  /** An event was on its way when the handler stopped. */
  #receiveLate(event: NatsEvent): void {
    if (this.#handling.held.has(event)) return this.#handling.send(event, nak(0))
    if (event.isNoted) this.#handling.runs.came(event)
    this.#late.push(event)
    this.#handling.retry(event, 0)
  }

  #add(event: NatsEvent): void {
    if (event.isNoted) this.#handling.runs.came(event)
    this.#worker.add(event)
  }

  #letGo(event: NatsEvent): void {
    const isLeased = performance.now() < event.leasedUntil
    if (!isLeased) this.#handling.held.forget(event)
    if (this.#isOrdered && !event.isFree && !this.#isStopped) {
      // The server delivers the event again. Later events, which may arrive before it does, have to wait for it.
      this.#early.begin()
      if (isLeased) this.#early.add(event)
      return
    }
    // The server gives a leased event to no other process: without this message another process would have to wait.
    if (isLeased) this.#handling.retry(event, 0)
  }

  // ── recovery ─────────────────────────────────────────────────────────────────────────────────────────

  /**
   * Handles that the consumer, its stream, or all streams are gone from the server. The events in this process may be
   * the only copies.
   */
  gone(why: string): void {
    if (this.#isStopped || this.#recovery.unavailable !== undefined) return
    for (const event of this.#heldHere()) event.isOnlyHere = true
    const { stream, consumer } = this.#watch.main as Subscription
    this.#recovery.begin(`the consumer '${consumer}' of the stream '${stream}' is gone (${why})`)
  }

  /** Nobody answers for a consumer of the group. */
  doubtful(consumer: Subscription): void {
    if (consumer === this.#watch.main) void this.#watch.look()
    else void this.#watch.infoOf(consumer)
  }

  /** The server serves another process of the group. */
  unpinned(): void {
    this.#early.unpinned()
  }

  #heldHere(): NatsEvent[] {
    return [...this.#worker.held, ...this.#early.all]
  }

  async #recover(): Promise<string> {
    const { pattern, group, route } = this.#options
    const connection = this.#connection as NatsConnection
    const before = this.#watch.standpoint as Standpoint
    const groups = this.#options.groups()
    const made = await groups.ensure(pattern, group, route.durable, before)
    if (this.#isStopped || connection !== this.#connection) return ''
    await this.#pulls.stop()
    if (this.#isStopped || connection !== this.#connection) return ''
    this.#join(connection, groups, made)
    const { stream, streamMadeAt, done } = made.standpoint
    const isSame = streamMadeAt === before.streamMadeAt && stream === before.stream
    return isSame ? `behind position ${done}` : `from the beginning of the stream '${stream}', which is new`
  }

  /** Decides which received events are still valid after the consumer or the stream was created again. */
  #settle({ stream, streamMadeAt, againMadeAt, consumerMadeAt }: Standpoint): void {
    const before = this.#watch.standpoint
    if (before === undefined) return
    const isSame = streamMadeAt === before.streamMadeAt && stream === before.stream
    const isSameAgain = againMadeAt === before.againMadeAt
    const isKnown = isSame && isSameAgain && consumerMadeAt === before.consumerMadeAt
    const { held } = this.#handling
    const ended = this.#handling.takeUnsent()
    for (const event of [...this.#heldHere(), ...ended]) {
      event.isOnlyHere = !(event.isFree ? isSameAgain : isSame)
      if (event.isOnlyHere) held.forget(event)
    }
    for (const event of ended) this.#handling.send(event, ACK)
    // Nothing was created again: the server still knows all events in this process.
    if (isKnown) return
    this.#epoch++
    const early = this.#early.end()
    // Events that have not begun are delivered again. The same consumer must be asked for that; a new consumer
    // delivers them anyway.
    const isSameConsumer = consumerMadeAt === before.consumerMadeAt
    const rest = [...this.#worker.release(true), ...early.filter(({ isOnlyHere }) => !isOnlyHere)]
    for (const event of rest)
      if (isSameConsumer) this.#handling.retry(event, 0)
      else held.forget(event)
    const lost = early.filter(({ isOnlyHere }) => isOnlyHere)
    for (const event of lost.sort(bySequence)) this.#worker.add(event)
    this.#worker.open()
  }
}

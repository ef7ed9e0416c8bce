/**
 * One durable handler of a service in one process: receives the messages of its group, acknowledges them, and stores
 * dead letters.
 */
import {
  type Consumer,
  type ConsumerInit,
  figuresOf,
  type Publisher,
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
import type { NatsConnection } from '../connection/nats-connection.ts'
import type { Message } from '../driver.ts'
import { headersIn } from '../words/headers.ts'
import { ACK, nak, WORKING } from './acknowledgements.ts'
import { bySequence, EarlyEvents } from './early.ts'
import { deadLetterOf, messageOf, NatsEvent } from './event.ts'
import {
  type Group,
  type Groups,
  MAX_PENDING_IN_ORDER,
  runsIn,
  type Standpoint,
  type Subscription
} from './groups.ts'
import { HeldEvents } from './held.ts'
import { AGAIN_STREAM } from './names.ts'
import type { StoredMessage } from './outgoing-event.ts'
import { Pull } from './pull.ts'
import type { Rounds } from './rounds.ts'
import { Runs } from './runs.ts'
import { readPlace } from './stored.ts'
import { GroupWatch } from './watch.ts'

/** Bytes of received events, beyond which no more events are requested. */
const MOST_HELD = 32 * 1024 * 1024
/** After this share of `ackWait` without a further acknowledgement, another process may have got the event. */
const LEASE = 0.8

export interface ConsumerOptions extends ConsumerInit {
  readonly ackWait: number
  /** The groups, over the current connection. */
  readonly groups: () => Groups
  /** Asks for the state of the group from time to time. */
  readonly rounds: Rounds
  /** Publishes dead letters. */
  readonly publisher: Publisher<StoredMessage>
}

/** Receives the events of one group for one pattern. */
export class NatsConsumer implements Consumer<NatsConnection> {
  readonly #options: ConsumerOptions
  readonly #worker: DurableWorker<NatsEvent>
  readonly #recovery: Recovery
  #held = new HeldEvents()
  /** The subject of all events; `undefined`: the subject has wildcards. */
  readonly #exact: string | undefined
  readonly #endBeat: () => void
  #connection: NatsConnection | undefined
  readonly #watch = new GroupWatch(
    (why) => this.#gone(why),
    () => this.#held.count > 0
  )
  #pulls: readonly Pull[] = []
  readonly #early: EarlyEvents
  readonly #runs = new Runs({
    isBehind: ({ key }) => this.#worker.holdsKey(key),
    store: async (text) => {
      const { main } = this.#watch
      if (main !== undefined) await this.#options.groups().noteRuns(main, text)
    }
  })
  /** Milliseconds for which the stream keeps events; 0: for ever. */
  #maxAge = 0
  /** Counts the connections to servers, so that deliveries of an earlier connection are recognised. */
  #epoch = 0
  /** Events that ended during a recovery: their acknowledgements are sent if the server turns out to have kept them. */
  #unsent: NatsEvent[] = []
  #redeliveries = 0
  #isStopped = false

  constructor(options: ConsumerOptions) {
    this.#options = options
    const { dispatcher, route, pattern, group, via, ackWait, logger } = options
    this.#exact = hasWildcards(pattern) ? undefined : pattern
    this.#worker = new DurableWorker<NatsEvent>(
      route.durable,
      {
        run: (event) => {
          const noted = this.#isInOrder(event) ? this.#runs.begins(event) : undefined
          const run = () => dispatcher.event(messageOf(event, group, via))
          return noted === undefined ? run() : noted.then(run)
        },
        isOurs: ({ leasedUntil, isOnlyHere }) => isOnlyHere || performance.now() < leasedUntil,
        letGo: (event) => this.#letGo(event),
        acknowledge: (event) => this.#acknowledge(event),
        whyNotLater: (event, delay) => this.#whyNotLater(event, delay),
        retry: (event, delay) => this.#giveBack(event, delay),
        bury: (event, reason) => this.#bury(event, reason),
        left: () => this.#fill()
      },
      systemClock,
      logger
    )
    this.#early = new EarlyEvents(this.#worker, {
      info: async () => {
        const info = await this.#watch.ask()
        // The process that was served before may have stored more.
        if (info !== undefined) this.#runs.load(runsIn(info), info.ack_floor.stream_seq)
        return info
      },
      add: (event) => this.#add(event),
      countKnown: (last) =>
        this.#held.countKnown((this.#watch.main as Subscription).stream, last, this.#epoch),
      giveBack: (event) => this.#giveBack(event, 0),
      fill: () => this.#fill()
    })
    this.#recovery = new Recovery({
      what: `The durable event '${pattern}' of the group '${group}'`,
      logger,
      recover: () => this.#recover()
    })
    this.#endBeat = repeat(() => this.#keep(), ackWait / 4)
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
    const { pattern, group, route } = this.#options
    const groups = this.#options.groups()
    const made = await groups.ensure(pattern, group, route.durable, this.#watch.standpoint)
    // A previous call of `start` may have come this far before it failed.
    if (this.#isStopped || (this.#connection === connection && this.#pulls.length > 0)) return
    this.#connection = connection
    this.#recovery.end()
    this.#join(connection, groups, made)
    await this.#watch.look()
  }

  #join(connection: NatsConnection, groups: Groups, group: Group): void {
    const { main, again } = group
    this.#settle(group.standpoint)
    this.#watch.join(connection, groups, group)
    this.#maxAge = group.maxAge
    this.#runs.load(group.runs, group.standpoint.done)
    this.#early.pin = undefined
    if (this.#isOrdered) this.#early.begin()
    const common = { gone: (why: string) => this.#gone(why), unpinned: () => this.#early.unpinned() }
    const { logger } = this.#options
    const worker = this.#worker
    const owner = this
    const mainPull = new Pull(
      connection,
      main,
      {
        ...common,
        // While it is not known which process has which events, all events that the server delivers must be accepted.
        get room() {
          if (owner.#early.isWaiting) return MAX_PENDING_IN_ORDER - owner.#held.count
          return owner.#held.bytes < MOST_HELD ? worker.room : 0
        },
        receive: (message, data) => this.#receive(message, data, mainPull),
        doubtful: () => void this.#watch.look()
      },
      logger,
      this.#isOrdered
    )
    const againPull = new Pull(
      connection,
      again,
      {
        ...common,
        room: 1,
        receive: (message, data) => this.#receive(message, data),
        doubtful: () => void this.#watch.infoOf(again)
      },
      logger,
      false
    )
    this.#pulls = [mainPull, againPull]
    for (const pull of this.#pulls) pull.start()
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
    for (const pull of this.#pulls) pull.restored()
    void this.#watch.look()
  }

  /** The connection is closed. `start` is called again with the next connection. */
  async leave(): Promise<void> {
    this.#recovery.end()
    await this.#stopPulls()
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
    const waiting = [...released, ...this.#early.end()]
    const lost = waiting.filter(({ isOnlyHere }) => isOnlyHere).length
    if (lost > 0)
      this.#options.logger.error(
        `${lost} durable events '${this.#options.pattern}' were deleted with their stream, and had not been handled by this process before it stopped`
      )
    const expired = waiting.filter((event) => this.#whyNotLater(event, 0) !== undefined).length
    if (expired > 0)
      this.#options.logger.error(
        `${expired} durable events '${this.#options.pattern}' are older than their stream keeps events (maxAge: ${this.#maxAge} ms), and had not been handled by this process before it stopped`
      )
    for (const event of waiting) this.#giveBack(event, 0)
    await this.leave()
    await this.#unpin()
    await ended
  }

  async #stopPulls(): Promise<void> {
    const pulls = this.#pulls
    this.#pulls = []
    await Promise.all(pulls.map((pull) => pull.stop()))
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
    for (const event of this.#worker.held) this.#giveBack(event, 0)
  }

  // ── receiving ───────────────────────────────────────────────────────────────────────────────────────

  #receive(message: Message, data: Uint8Array, mainPull?: Pull): void {
    const place = readPlace(message.reply ?? '')
    if (place === undefined) return
    const pin = mainPull !== undefined && this.#isOrdered ? headersIn(message)?.get('Nats-Pin-Id') : undefined
    if (mainPull !== undefined && pin !== undefined && pin !== this.#early.pin) {
      // Another process was served before this process, and may still have events that come before these events.
      this.#early.pin = pin
      mainPull.pin = pin
      this.#early.begin()
    }
    const leasedUntil = performance.now() + this.#options.ackWait * LEASE
    const event = new NatsEvent(message, data, place, leasedUntil, this.#epoch, this.#exact)
    if (this.#isStopped) return this.#send(event, nak(0))
    if (place.deliveries > 1) this.#redeliveries++
    if (place.stream !== AGAIN_STREAM) this.#watch.lag = place.pending + this.#held.count
    const outcome = this.#held.take(event)
    if (outcome === 'done') this.#send(event, ACK)
    // The event was delivered again, because its handler was slow or an acknowledgement was lost.
    if (outcome !== 'taken') return this.#fill()
    if (!this.#early.isWaiting || place.stream === AGAIN_STREAM) this.#add(event)
    else this.#early.add(event)
  }

  #add(event: NatsEvent): void {
    if (this.#isInOrder(event)) this.#runs.came(event)
    this.#worker.add(event)
  }

  #isInOrder({ isFree, isOnlyHere }: NatsEvent): boolean {
    return this.#isOrdered && !isFree && !isOnlyHere
  }

  // ── outcomes ─────────────────────────────────────────────────────────────────────────────────────────

  #acknowledge(event: NatsEvent): void {
    this.#held.done(event)
    if (this.#isInOrder(event)) this.#runs.done(event)
    if (event.isOnlyHere && this.#recovery.unavailable !== undefined) this.#unsent.push(event)
    else this.#send(event, ACK)
    this.#watch.done()
  }

  #giveBack(event: NatsEvent, delay: number): void {
    this.#held.forget(event)
    if (this.#isInOrder(event)) this.#runs.left(event)
    this.#send(event, nak(delay))
  }

  #whyNotLater({ place: { stream, storedAt }, isOnlyHere }: NatsEvent, delay: number): string | undefined {
    if (isOnlyHere || stream !== this.#watch.main?.stream) return undefined
    return whyTooOld(storedAt, this.#maxAge, delay)
  }

  async #bury(event: NatsEvent, reason: string): Promise<void> {
    const { group, publisher } = this.#options
    const { consumer } = this.#watch.main as Subscription
    const maxPayload = this.#connection?.maxPayload ?? 0
    await publisher.publish(deadLetterOf(event, reason, group, consumer, maxPayload))
    this.#acknowledge(event)
  }

  #letGo(event: NatsEvent): void {
    const isLeased = performance.now() < event.leasedUntil
    if (!isLeased) this.#held.forget(event)
    if (this.#isOrdered && !event.isFree && !this.#isStopped) {
      // The server delivers the event again. Later events, which may arrive before it does, have to wait for it.
      this.#early.begin()
      if (isLeased) this.#early.add(event)
      return
    }
    // The server gives a leased event to no other process: without this message another process would have to wait.
    if (isLeased) this.#giveBack(event, 0)
  }

  #send({ reply, isOnlyHere }: NatsEvent, words: string | Uint8Array): void {
    // The event's stream was deleted, so another event may have the same number by now.
    if (!isOnlyHere) this.#connection?.publish(reply, words)
  }

  /** Tells the server that the received events are still being handled. */
  #keep(): void {
    if (this.#connection?.isConnected !== true) return
    const leasedUntil = performance.now() + this.#options.ackWait * LEASE
    for (const event of this.#held.values()) {
      // The event has not begun, and another process may have it by now: this process must not claim it again.
      if (performance.now() > event.leasedUntil && !this.#worker.isRunning(event)) continue
      event.leasedUntil = leasedUntil
      this.#send(event, WORKING)
    }
  }

  #fill(): void {
    for (const pull of this.#pulls) pull.fill()
  }

  // ── recovery ─────────────────────────────────────────────────────────────────────────────────────────

  /**
   * Handles that the consumer, its stream, or all streams are gone from the server. The events in this process may be
   * the only copies.
   */
  #gone(why: string): void {
    if (this.#isStopped || this.#recovery.unavailable !== undefined) return
    for (const event of this.#heldHere()) event.isOnlyHere = true
    const { stream, consumer } = this.#watch.main as Subscription
    this.#recovery.begin(`the consumer '${consumer}' of the stream '${stream}' is gone (${why})`)
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
    await this.#stopPulls()
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
    const ended = this.#unsent
    this.#unsent = []
    for (const event of [...this.#heldHere(), ...ended]) {
      event.isOnlyHere = !(event.isFree ? isSameAgain : isSame)
      if (event.isOnlyHere) this.#held.forget(event)
    }
    for (const event of ended) this.#send(event, ACK)
    // Nothing was created again: the server still knows all events in this process.
    if (isKnown) return
    this.#epoch++
    const early = this.#early.end()
    // Events that have not begun are delivered again. The same consumer must be asked for that; a new consumer
    // delivers them anyway.
    const isSameConsumer = consumerMadeAt === before.consumerMadeAt
    const rest = [...this.#worker.release(true), ...early.filter(({ isOnlyHere }) => !isOnlyHere)]
    for (const event of rest)
      if (isSameConsumer) this.#giveBack(event, 0)
      else this.#held.forget(event)
    const lost = early.filter(({ isOnlyHere }) => isOnlyHere)
    for (const event of lost.sort(bySequence)) this.#worker.add(event)
    this.#worker.open()
  }
}

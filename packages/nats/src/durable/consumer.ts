/** One durable handler of a service in one process: its messages, their acknowledgements, their dead letters. */
import {
  type Consumer,
  type ConsumerInit,
  figuresOf,
  type Publisher,
  Recovery,
  repeat
} from '@elysia-microservices/transport/engine'
import {
  type DurableFigures,
  DurableWorker,
  hasWildcards,
  systemClock
} from '@elysia-microservices/transport/kit'
import type { Msg } from '@nats-io/transport-node'
import type { NatsConnection } from '../connection/nats-connection.ts'
import { ACK, nak, WORKING } from './acknowledgements.ts'
import { bySequence, EarlyEvents } from './early.ts'
import { deadLetterOf, messageOf, NatsEvent } from './event.ts'
import {
  type Group,
  type Groups,
  MAX_PENDING_IN_ORDER,
  type Standpoint,
  type Subscription
} from './groups.ts'
import { HeldEvents } from './held.ts'
import { AGAIN_STREAM } from './names.ts'
import type { StoredMessage } from './outgoing-event.ts'
import { Pull } from './pull.ts'
import { readPlace } from './stored.ts'
import { GroupWatch } from './watch.ts'

/** Milliseconds between looks at what the server says of the group: lag, pause, whether its consumer is there. */
const LOOK = 5_000
/** Bytes of events here, beyond which no more are asked for. */
const MOST_HELD = 32 * 1024 * 1024
/** Share of `ackWait` for which an event is ours without another sign of life. */
const LEASE = 0.8

export interface ConsumerOptions extends ConsumerInit {
  readonly ackWait: number
  /** The groups, asked for over the current connection. */
  readonly groups: () => Groups
  /** Stores dead letters. */
  readonly publisher: Publisher<StoredMessage>
}

/** Takes the events of one group for one pattern. */
export class NatsConsumer implements Consumer<NatsConnection> {
  readonly #options: ConsumerOptions
  readonly #worker: DurableWorker<NatsEvent>
  readonly #recovery: Recovery
  #held = new HeldEvents()
  /** The subject of all its events; `undefined`: it has wildcards. */
  readonly #exact: string | undefined
  readonly #endBeat: () => void
  readonly #endLooks: () => void
  #connection: NatsConnection | undefined
  readonly #watch = new GroupWatch((why) => this.#gone(why))
  #pulls: readonly Pull[] = []
  readonly #early: EarlyEvents
  /** Counts the servers we were connected to. */
  #epoch = 0
  #redeliveries = 0
  #isStopped = false

  constructor(options: ConsumerOptions) {
    this.#options = options
    const { dispatcher, route, pattern, group, via, ackWait, logger } = options
    this.#exact = hasWildcards(pattern) ? undefined : pattern
    this.#worker = new DurableWorker<NatsEvent>(
      route.durable,
      {
        run: (event) => dispatcher.event(messageOf(event, group, via)),
        isOurs: ({ leasedUntil, isOnlyHere }) => isOnlyHere || performance.now() < leasedUntil,
        letGo: (event) => this.#letGo(event),
        acknowledge: (event) => this.#acknowledge(event),
        retry: (event, delay) => this.#giveBack(event, delay),
        bury: (event, reason) => this.#bury(event, reason),
        left: () => this.#fill()
      },
      systemClock,
      logger
    )
    this.#early = new EarlyEvents(this.#worker, {
      info: () => this.#watch.ask(),
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
    this.#endLooks = repeat(() => void this.#watch.look(), LOOK)
  }

  get running(): number {
    return this.#worker.running
  }

  get figures(): DurableFigures {
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
   * Makes what is missing at the server, and begins to take events.
   * @throws {OptionError} what is there differs
   */
  async start(connection: NatsConnection): Promise<void> {
    const { pattern, group, route } = this.#options
    const groups = this.#options.groups()
    const made = await groups.ensure(pattern, group, route.durable, this.#watch.standpoint)
    // The first attempt may have come as far as this.
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
        // While it is unknown who holds what, everything must find a place.
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

  /** The server is lost. */
  lost(): void {
    if (this.#isOrdered) this.#worker.close()
  }

  /** There is a server again. */
  restored(): void {
    this.#epoch++
    if (this.#isOrdered && this.#watch.main !== undefined) {
      this.#early.begin()
      // Whether the server knows that they are here is unknown: it is to deliver them again.
      this.#early.giveBack()
    }
    for (const pull of this.#pulls) pull.restored()
    void this.#watch.look()
  }

  /** The connection is over for good; `start` follows with another. */
  async leave(): Promise<void> {
    this.#recovery.end()
    await this.#stopPulls()
  }

  /** Takes nothing new; what has not begun goes back at once. @returns resolves when what runs has ended */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#endLooks()
    this.#early.stop()
    const { released, ended } = this.#worker.stop()
    const waiting = [...released, ...this.#early.end()]
    const lost = waiting.filter(({ isOnlyHere }) => isOnlyHere).length
    if (lost > 0)
      this.#options.logger.error(
        `${lost} durable events '${this.#options.pattern}' were deleted with their stream, and had not been handled here before the service stopped`
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

  /** Others would wait for us. */
  async #unpin(): Promise<void> {
    try {
      await this.#watch.unpin(this.#early.pin)
    } catch (error) {
      this.#options.logger.warn(
        `NATS could not be told that this process handles no more of '${this.#options.pattern}': others of the group '${this.#options.group}' wait for it`,
        error
      )
    }
  }

  /** Stops waiting for running handlers: their events go to other processes. */
  cut(): void {
    this.#endBeat()
    for (const event of this.#worker.held) this.#giveBack(event, 0)
  }

  // ── messages in ──────────────────────────────────────────────────────────────────────────────────────

  #receive(message: Msg, data: Uint8Array, mainPull?: Pull): void {
    const place = readPlace(message.reply ?? '')
    if (place === undefined) return
    const pin = mainPull !== undefined && this.#isOrdered ? message.headers?.get('Nats-Pin-Id') : undefined
    if (mainPull !== undefined && pin !== undefined && pin !== this.#early.pin) {
      // Another process was served before us, and may still have events that come before these.
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
    // It was slow, or a word about it was lost.
    if (outcome !== 'taken') return this.#fill()
    if (!this.#early.isWaiting || place.stream === AGAIN_STREAM) this.#worker.add(event)
    else this.#early.add(event)
  }

  // ── what becomes of them ─────────────────────────────────────────────────────────────────────────────

  #acknowledge(event: NatsEvent): void {
    this.#held.done(event)
    this.#send(event, ACK)
    this.#watch.done()
  }

  #giveBack(event: NatsEvent, delay: number): void {
    this.#held.forget(event)
    this.#send(event, nak(delay))
  }

  async #bury(event: NatsEvent, reason: string): Promise<void> {
    const { group, publisher } = this.#options
    const { consumer } = this.#watch.main as Subscription
    const maxPayload = this.#connection?.maxPayload ?? 0
    await publisher.publish(deadLetterOf(event, reason, group, consumer, maxPayload))
    this.#acknowledge(event)
  }

  #letGo(event: NatsEvent): void {
    // While the event is ours, another process would have to wait for it.
    if (performance.now() < event.leasedUntil) this.#giveBack(event, 0)
    else this.#held.forget(event)
  }

  #send({ reply, isOnlyHere }: NatsEvent, words: string | Uint8Array): void {
    // Another event may have its number by now.
    if (!isOnlyHere) this.#connection?.publish(reply, words)
  }

  /** Tells the server that what is here is being worked on. */
  #keep(): void {
    if (this.#connection?.isConnected !== true) return
    const leasedUntil = performance.now() + this.#options.ackWait * LEASE
    for (const event of this.#held.values()) {
      // An event that another process may have by now must not be kept from it.
      if (performance.now() > event.leasedUntil && !this.#worker.isRunning(event)) continue
      event.leasedUntil = leasedUntil
      this.#send(event, WORKING)
    }
  }

  #fill(): void {
    for (const pull of this.#pulls) pull.fill()
  }

  // ── what is gone ─────────────────────────────────────────────────────────────────────────────────────

  /** The consumer, its stream, or all streams are gone. What is here may be all that there is. */
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

  /** Decides about what is here when the group has got another consumer, or its stream is another one. */
  #settle({ stream, streamMadeAt, againMadeAt, consumerMadeAt }: Standpoint): void {
    const before = this.#watch.standpoint
    if (before === undefined) return
    const isSame = streamMadeAt === before.streamMadeAt && stream === before.stream
    const isSameAgain = againMadeAt === before.againMadeAt
    const isKnown = isSame && isSameAgain && consumerMadeAt === before.consumerMadeAt
    for (const event of this.#heldHere()) {
      event.isOnlyHere = !(event.isFree ? isSameAgain : isSame)
      if (event.isOnlyHere) this.#held.forget(event)
    }
    // It was a false alarm: all that is here is still known to the server.
    if (isKnown) return
    this.#epoch++
    const early = this.#early.end()
    // The rest comes again. The previous consumer has to be told so; to another one it is news.
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

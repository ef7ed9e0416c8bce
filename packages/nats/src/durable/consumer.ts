/** One durable handler of a service in one process: its messages, their acknowledgements, their dead letters. */
import { type Consumer, type Publisher, Recovery } from '@elysia-microservices/transport/engine'
import {
  type Dispatcher,
  type DurableFigures,
  type DurableRoute,
  DurableWorker,
  hasWildcards,
  type Logger,
  systemClock,
  viaOf
} from '@elysia-microservices/transport/kit'
import type { ConsumerInfo } from '@nats-io/jetstream'
import type { Msg } from '@nats-io/transport-node'
import type { NatsConnection } from '../connection/nats-connection.ts'
import { ACK, nak, WORKING } from './acknowledgements.ts'
import { deadLetterOf, messageOf, NatsEvent } from './event.ts'
import {
  type Group,
  type Groups,
  MAX_PENDING_IN_ORDER,
  type Standpoint,
  type Subscription
} from './groups.ts'
import { HeldEvents } from './held.ts'
import { isMissing, isOff } from './jetstream-errors.ts'
import { AGAIN_STREAM } from './names.ts'
import type { StoredMessage } from './outgoing-event.ts'
import { Pull } from './pull.ts'
import { readPlace } from './stored.ts'

/** Milliseconds between two requests for the group's state, and between two checks that stream and consumer exist. */
const LOOK = 5_000
const LOOK_AGAIN = 50
/** Under load it is looked sooner, after so many events and milliseconds: what was done since may run again with a new consumer. */
const SOON = { events: 250, milliseconds: 100 }
/** Looks in a row that find the wait useless, to twice as many by chance, until what is here goes back: it costs deliveries. */
const VAIN_LOOKS = 10
/** Bytes of events here, beyond which no more are asked for. */
const MOST_HELD = 32 * 1024 * 1024
/** What of `ackWait` an event is ours without another sign of life. */
const LEASE = 0.8

/** What the server tells about a consumer. The library's type does not have the client that is pinned. */
interface GroupInfo extends ConsumerInfo {
  readonly priority_groups?: readonly { readonly pinned_client_id?: string }[]
}

export interface ConsumerOptions {
  readonly dispatcher: Dispatcher
  readonly route: DurableRoute
  readonly subject: string
  readonly group: string
  readonly ackWait: number
  /** What asks JetStream, over the connection there is now. */
  readonly groups: () => Groups
  readonly logger: Logger
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
  readonly #beat: ReturnType<typeof setInterval>
  readonly #look: ReturnType<typeof setInterval>
  #connection: NatsConnection | undefined
  #groups: Groups | undefined
  #main: Subscription | undefined
  #standpoint: Standpoint | undefined
  #pulls: readonly Pull[] = []
  /** In order: what has come since it is unknown whether others hold events that come before it. */
  #early: NatsEvent[] | undefined
  #looking: ReturnType<typeof setTimeout> | undefined
  #pin: string | undefined
  #vainLooks = 0
  /** Events done since the last look, and when it was. */
  #sinceLook = 0
  #lookedAt = 0
  #lag: number | undefined
  #isPaused = false
  /** Counts the servers we were connected to. */
  #epoch = 0
  #redeliveries = 0
  #isStopped = false

  constructor(options: ConsumerOptions) {
    this.#options = options
    const { route, subject, ackWait, logger } = options
    this.#exact = hasWildcards(subject) ? undefined : subject
    this.#worker = new DurableWorker<NatsEvent>(
      route.durable,
      {
        run: (event) => this.#run(event),
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
    this.#recovery = new Recovery({
      what: `The durable event '${subject}' of the group '${options.group}'`,
      logger,
      recover: () => this.#recover()
    })
    this.#beat = setInterval(() => this.#keep(), ackWait / 4)
    this.#look = setInterval(() => void this.#lookAtGroup(), LOOK)
    for (const timer of [this.#beat, this.#look]) timer.unref?.()
  }

  get running(): number {
    return this.#worker.running
  }

  get figures(): DurableFigures {
    const { retries, deadLetters } = this.#worker.figures
    return {
      pattern: this.#options.subject,
      group: this.#options.group,
      lag: this.#lag,
      redeliveries: this.#redeliveries + (this.#isOrdered ? retries : 0),
      deadLetters,
      isPaused: this.#isPaused,
      ...(this.#recovery.unavailable !== undefined && { unavailable: this.#recovery.unavailable })
    }
  }

  get #isOrdered(): boolean {
    return this.#options.route.durable.ordered
  }

  /**
   * Makes what is missing at the server, and begins to take events.
   * @throws {OptionError} what is there differs
   */
  async start(connection: NatsConnection): Promise<void> {
    const { subject, group, route } = this.#options
    const groups = this.#options.groups()
    const made = await groups.ensure(subject, group, route.durable, this.#standpoint)
    // The first attempt may have come as far as this.
    if (this.#isStopped || (this.#connection === connection && this.#pulls.length > 0)) return
    this.#connection = connection
    this.#groups = groups
    this.#recovery.end()
    this.#join(connection, made)
    await this.#lookAtGroup()
  }

  #join(connection: NatsConnection, { main, again, standpoint }: Group): void {
    this.#settle(standpoint)
    this.#main = main
    this.#standpoint = standpoint
    this.#pin = undefined
    if (this.#isOrdered) this.#uncertain()
    const common = { gone: (why: string) => this.#gone(why), unpinned: () => this.#unpinned() }
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
          if (owner.#early !== undefined) return MAX_PENDING_IN_ORDER - owner.#held.count
          return owner.#held.bytes < MOST_HELD ? worker.room : 0
        },
        receive: (message, data) => this.#receive(message, data, mainPull),
        doubtful: () => void this.#lookAtGroup()
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
        doubtful: () => void this.#infoOf(again)
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
    if (this.#isOrdered && this.#main !== undefined) {
      this.#uncertain()
      // Whether the server knows that they are here is unknown: it is to deliver them again.
      this.#giveEarlyBack()
    }
    for (const pull of this.#pulls) pull.restored()
    void this.#lookAtGroup()
  }

  /** The connection is over for good; `start` follows with another. */
  async leave(): Promise<void> {
    this.#recovery.end()
    await this.#stopPulls()
  }

  /** Takes nothing new; what has not begun goes back at once. @returns resolves when what runs has ended */
  async stop(): Promise<void> {
    this.#isStopped = true
    clearInterval(this.#look)
    clearTimeout(this.#looking)
    const { released, ended } = this.#worker.stop()
    const waiting = [...released, ...(this.#early ?? [])]
    const lost = waiting.filter(({ isOnlyHere }) => isOnlyHere).length
    if (lost > 0)
      this.#options.logger.error(
        `${lost} durable events '${this.#options.subject}' were deleted with their stream, and had not been handled here before the service stopped`
      )
    for (const event of waiting) this.#giveBack(event, 0)
    this.#early = undefined
    await this.leave()
    await this.#unpin()
    await ended
  }

  async #stopPulls(): Promise<void> {
    const pulls = this.#pulls
    this.#pulls = []
    await Promise.all(pulls.map((pull) => pull.stop()))
  }

  /** Lets the server serve another process at once: it would wait for us until the time of the pin is over. */
  async #unpin(): Promise<void> {
    const pin = this.#pin
    if (pin === undefined || this.#main === undefined || this.#connection?.isConnected !== true) return
    try {
      const info: GroupInfo | undefined = await this.#groups?.info(this.#main)
      if (info?.priority_groups?.[0]?.pinned_client_id === pin) await this.#groups?.unpin(this.#main)
    } catch (error) {
      this.#options.logger.warn(
        `NATS could not be told that this process handles no more of '${this.#options.subject}': others of the group '${this.#options.group}' wait for it`,
        error
      )
    }
  }

  /** What runs is not waited for any longer, nor kept from others. */
  cut(): void {
    clearInterval(this.#beat)
    for (const event of this.#worker.held) this.#giveBack(event, 0)
  }

  /** Another process is served. It waits for all that is here, so what has not begun goes back: here it would wait, too. */
  #unpinned(): void {
    this.#pin = undefined
    this.#uncertain()
    this.#giveEarlyBack()
  }

  #giveEarlyBack(): void {
    for (const event of this.#early ?? []) this.#giveBack(event, 0)
    this.#early = []
  }

  // ── messages in ──────────────────────────────────────────────────────────────────────────────────────

  #receive(message: Msg, data: Uint8Array, mainPull?: Pull): void {
    const place = readPlace(message.reply ?? '')
    if (place === undefined) return
    const pin = mainPull !== undefined && this.#isOrdered ? message.headers?.get('Nats-Pin-Id') : undefined
    if (mainPull !== undefined && pin !== undefined && pin !== this.#pin) {
      // Another process was served before us, and may still have events that come before these.
      this.#pin = pin
      mainPull.pin = pin
      this.#uncertain()
    }
    const leasedUntil = performance.now() + this.#options.ackWait * LEASE
    const event = new NatsEvent(message, data, place, leasedUntil, this.#epoch, this.#exact)
    if (this.#isStopped) return this.#send(event, nak(0))
    if (place.deliveries > 1) this.#redeliveries++
    if (place.stream !== AGAIN_STREAM) this.#lag = place.pending + this.#held.count
    const outcome = this.#held.take(event)
    if (outcome === 'done') this.#send(event, ACK)
    // It was slow, or a word about it was lost.
    if (outcome !== 'taken') return this.#fill()
    if (this.#early === undefined || place.stream === AGAIN_STREAM) this.#worker.add(event)
    else {
      this.#early.push(event)
      this.#lookLater()
    }
  }

  #run(event: NatsEvent): void | Promise<void> {
    const { route, group, dispatcher } = this.#options
    return dispatcher.event(messageOf(event, group, viaOf(route.route, route.durable.group)))
  }

  // ── what becomes of them ─────────────────────────────────────────────────────────────────────────────

  #acknowledge(event: NatsEvent): void {
    this.#held.done(event)
    this.#send(event, ACK)
    if (++this.#sinceLook >= SOON.events && performance.now() - this.#lookedAt >= SOON.milliseconds)
      void this.#lookAtGroup()
  }

  #giveBack(event: NatsEvent, delay: number): void {
    this.#held.forget(event)
    this.#send(event, nak(delay))
  }

  async #bury(event: NatsEvent, reason: string): Promise<void> {
    const { group, publisher } = this.#options
    const { consumer } = this.#main as Subscription
    const maxPayload = this.#connection?.maxPayload ?? 0
    await publisher.publish(deadLetterOf(event, reason, group, consumer, maxPayload))
    this.#acknowledge(event)
  }

  #letGo(event: NatsEvent): void {
    // What is still ours would wait for nobody here.
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
      // What may be with another by now must not be kept from it.
      if (performance.now() > event.leasedUntil && !this.#worker.isRunning(event)) continue
      event.leasedUntil = leasedUntil
      this.#send(event, WORKING)
    }
  }

  #fill(): void {
    for (const pull of this.#pulls) pull.fill()
  }

  // ── the group ────────────────────────────────────────────────────────────────────────────────────────

  /**
   * In order: nothing begins until all events that were delivered and are not done are here. Then no other process has
   * one that comes before ours, and none gets one as long as ours are not done: its own look would find them missing.
   */
  #uncertain(): void {
    this.#worker.close()
    this.#early = [...(this.#early ?? []), ...this.#worker.release(true)]
    this.#lookLater()
  }

  #lookLater(): void {
    if (this.#isStopped) return
    this.#looking ??= setTimeout(() => {
      this.#looking = undefined
      void this.#lookForAll()
    }, LOOK_AGAIN)
  }

  async #lookForAll(): Promise<void> {
    const early = this.#early
    const main = this.#main as Subscription
    // Who is not served has nothing to look for.
    if (early === undefined || early.length === 0 || this.#isStopped) return
    // If it fails, it is asked again.
    const info = await this.#groups?.info(main).catch(() => undefined)
    if (this.#early !== early || this.#isStopped) return
    const last = info?.delivered.consumer_seq ?? 0
    const held = this.#held.countKnown(main.stream, last, this.#epoch)
    if (info?.num_ack_pending !== held) {
      if (info === undefined || !this.#isInVain(info, held)) this.#vainLooks = 0
      else if (++this.#vainLooks > VAIN_LOOKS * (1 + Math.random())) {
        this.#vainLooks = 0
        this.#unpinned()
      }
      this.#lookLater()
      return this.#fill()
    }
    this.#early = undefined
    early.sort((one, other) => one.place.sequence - other.place.sequence)
    for (const event of early) this.#worker.add(event)
    this.#worker.open()
    this.#fill()
  }

  /** Whether others would wait for what is here as we do for what is there. */
  #isInVain({ num_ack_pending: pending, priority_groups: groups }: GroupInfo, held: number): boolean {
    // Others have ended some of these: which, the server says by what it delivers again.
    if (held > pending) return true
    // Until there is something to deliver, nobody is served.
    const served = groups?.[0]?.pinned_client_id
    return served === undefined || served !== this.#pin
  }

  async #lookAtGroup(): Promise<void> {
    const standpoint = this.#standpoint
    this.#sinceLook = 0
    this.#lookedAt = performance.now()
    if (this.#main === undefined || standpoint === undefined) return
    const info = await this.#infoOf(this.#main)
    if (info === undefined || standpoint !== this.#standpoint) return
    if (info.created !== standpoint.consumerMadeAt) return this.#gone('another one has its name')
    this.#lag = info.num_pending + info.num_ack_pending
    this.#isPaused = info.paused === true
    const done = Math.max(standpoint.done, info.ack_floor.stream_seq)
    const pausedUntil = this.#isPaused ? info.config.pause_until : undefined
    this.#standpoint = { ...standpoint, done, pausedUntil }
  }

  /** What the server says of a consumer; `undefined` if it says nothing. Without it, it is created again. */
  async #infoOf(subscription: Subscription): Promise<ConsumerInfo | undefined> {
    const standpoint = this.#standpoint
    if (this.#connection?.isConnected !== true) return undefined
    try {
      return await this.#groups?.info(subscription)
    } catch (error) {
      // The figures stay as they were.
      const isGone = isMissing(error) || isOff(error)
      const why = isOff(error) ? 'JetStream is off, or not ready' : (error as Error).message
      if (isGone && standpoint === this.#standpoint) this.#gone(why)
      return undefined
    }
  }

  // ── what is gone ─────────────────────────────────────────────────────────────────────────────────────

  /** The consumer, its stream, or all streams are gone. What is here may be all that there is. */
  #gone(why: string): void {
    if (this.#isStopped || this.#recovery.unavailable !== undefined) return
    for (const event of this.#heldHere()) event.isOnlyHere = true
    const { stream, consumer } = this.#main as Subscription
    this.#recovery.begin(`the consumer '${consumer}' of the stream '${stream}' is gone (${why})`)
  }

  #heldHere(): NatsEvent[] {
    return [...this.#worker.held, ...(this.#early ?? [])]
  }

  async #recover(): Promise<string> {
    const { subject, group, route } = this.#options
    const connection = this.#connection as NatsConnection
    const before = this.#standpoint as Standpoint
    const made = await this.#options.groups().ensure(subject, group, route.durable, before)
    if (this.#isStopped || connection !== this.#connection) return ''
    await this.#stopPulls()
    if (this.#isStopped || connection !== this.#connection) return ''
    this.#join(connection, made)
    const { stream, streamMadeAt, done } = made.standpoint
    const isSame = streamMadeAt === before.streamMadeAt && stream === before.stream
    return isSame ? `behind position ${done}` : `from the beginning of the stream '${stream}', which is new`
  }

  /** Decides about what is here when the group has got another consumer, or its stream is another one. */
  #settle({ stream, streamMadeAt, againMadeAt, consumerMadeAt }: Standpoint): void {
    const before = this.#standpoint
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
    const early = this.#early ?? []
    this.#early = undefined
    // The rest comes again. The previous consumer has to be told so; to another one it is news.
    const isSameConsumer = consumerMadeAt === before.consumerMadeAt
    const rest = [...this.#worker.release(true), ...early.filter(({ isOnlyHere }) => !isOnlyHere)]
    for (const event of rest)
      if (isSameConsumer) this.#giveBack(event, 0)
      else this.#held.forget(event)
    const lost = early.filter(({ isOnlyHere }) => isOnlyHere)
    for (const event of lost.sort((one, other) => one.place.sequence - other.place.sequence))
      this.#worker.add(event)
    this.#worker.open()
  }
}

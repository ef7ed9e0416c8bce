/** One durable handler of a service in one process: its messages, their acknowledgements, their dead letters. */
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
import type { Link } from '../link.ts'
import { ACK, nak, WORKING } from './acknowledgements.ts'
import { deadLetterOf, messageOf, NatsEvent } from './event.ts'
import { HeldEvents } from './held.ts'
import { AGAIN_STREAM } from './names.ts'
import type { Publisher } from './publisher.ts'
import { Pull } from './pull.ts'
import { readPlace } from './stored.ts'
import { MAX_PENDING_IN_ORDER, type Streams, type Subscription } from './streams.ts'

/** Milliseconds between looks at what the server says of the group, and until it is looked again whether all is here. */
const LOOK = 5_000
const LOOK_AGAIN = 50
/** Looks in a row that find the wait in vain, to twice as many by chance, until what is here goes back: it costs deliveries. */
const VAIN_LOOKS = 10
/** Bytes of events here, beyond which no more are asked for. */
const MOST_HELD = 32 * 1024 * 1024
/** What of `ackWait` an event is ours without another sign of life. */
const LEASE = 0.8

/** What the server says of a consumer; the types of the library lack whom it serves. */
interface GroupInfo extends ConsumerInfo {
  readonly priority_groups?: readonly { readonly pinned_client_id?: string }[]
}

export interface ConsumerOptions {
  readonly dispatcher: Dispatcher
  readonly route: DurableRoute
  readonly subject: string
  readonly group: string
  readonly ackWait: number
  readonly inboxPrefix: string | undefined
  readonly logger: Logger
  /** Stores dead letters. */
  readonly publisher: Publisher
}

/** Takes the events of one group for one pattern. */
export class NatsConsumer {
  readonly #options: ConsumerOptions
  readonly #worker: DurableWorker<NatsEvent>
  readonly #held = new HeldEvents()
  /** The subject of all its events; `undefined`: it has wildcards. */
  readonly #exact: string | undefined
  readonly #beat: ReturnType<typeof setInterval>
  readonly #look: ReturnType<typeof setInterval>
  #link: Link | undefined
  #streams: Streams | undefined
  #main: Subscription | undefined
  #pulls: readonly Pull[] = []
  /** In order: what has come since it is unknown whether others hold events that come before it. */
  #early: NatsEvent[] | undefined
  #looking: ReturnType<typeof setTimeout> | undefined
  #pin: string | undefined
  #vainLooks = 0
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
        isOurs: ({ leasedUntil }) => performance.now() < leasedUntil,
        letGo: (event) => this.#letGo(event),
        acknowledge: (event) => this.#acknowledge(event),
        retry: (event, delay) => this.#giveBack(event, delay),
        bury: (event, reason) => this.#bury(event, reason),
        left: () => this.#fill()
      },
      systemClock,
      logger
    )
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
      isPaused: this.#isPaused
    }
  }

  get #isOrdered(): boolean {
    return this.#options.route.durable.ordered
  }

  /**
   * Makes what is missing at the server, and begins to take events.
   * @throws {OptionError} what is there differs
   */
  async start(link: Link, streams: Streams): Promise<void> {
    const { subject, group, route, logger, inboxPrefix } = this.#options
    const { main, again } = await streams.ensureConsumers(subject, group, route.durable)
    // The first attempt may have come as far as this.
    if (this.#isStopped || (this.#link === link && this.#pulls.length > 0)) return
    this.#link = link
    this.#streams = streams
    this.#main = main
    if (this.#isOrdered) this.#uncertain()
    const common = { gone: () => this.#remake(), unpinned: () => this.#unpinned() }
    const worker = this.#worker
    const owner = this
    const mainPull = new Pull(
      link,
      main,
      {
        ...common,
        // While it is unknown who holds what, everything must find a place.
        get room() {
          if (owner.#early !== undefined) return MAX_PENDING_IN_ORDER - owner.#held.count
          return owner.#held.bytes < MOST_HELD ? worker.room : 0
        },
        receive: (message, data) => this.#receive(message, data, mainPull)
      },
      logger,
      inboxPrefix,
      this.#isOrdered
    )
    const againPull = new Pull(
      link,
      again,
      { ...common, room: 1, receive: (message, data) => this.#receive(message, data) },
      logger,
      inboxPrefix,
      false
    )
    this.#pulls = [mainPull, againPull]
    for (const pull of this.#pulls) pull.start()
    await this.#lookAtGroup()
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
  }

  /** The connection is over for good; `start` follows with another. */
  async leave(): Promise<void> {
    const pulls = this.#pulls
    this.#pulls = []
    await Promise.all(pulls.map((pull) => pull.stop()))
  }

  /** Takes nothing new; what has not begun goes back at once. @returns resolves when what runs has ended */
  async stop(): Promise<void> {
    this.#isStopped = true
    clearInterval(this.#look)
    clearTimeout(this.#looking)
    const { released, ended } = this.#worker.stop()
    for (const event of [...released, ...(this.#early ?? [])]) this.#giveBack(event, 0)
    this.#early = undefined
    await this.leave()
    await ended
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
  }

  #giveBack(event: NatsEvent, delay: number): void {
    this.#held.forget(event)
    this.#send(event, nak(delay))
  }

  async #bury(event: NatsEvent, reason: string): Promise<void> {
    const { group, publisher } = this.#options
    const { consumer } = this.#main as Subscription
    await publisher.publish(deadLetterOf(event, reason, group, consumer))
    this.#acknowledge(event)
  }

  #letGo(event: NatsEvent): void {
    // What is still ours would wait for nobody here.
    if (performance.now() < event.leasedUntil) this.#giveBack(event, 0)
    else this.#held.forget(event)
  }

  #send({ reply }: NatsEvent, words: string | Uint8Array): void {
    this.#link?.publish(reply, words)
  }

  /** Tells the server that what is here is being worked on. */
  #keep(): void {
    if (this.#link?.isConnected !== true) return
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
    const { stream, consumer } = this.#main as Subscription
    // Who is not served has nothing to look for.
    if (early === undefined || early.length === 0 || this.#isStopped) return
    // If it fails, it is asked again.
    const info = await this.#streams?.manager.consumers.info(stream, consumer).catch(() => undefined)
    if (this.#early !== early || this.#isStopped) return
    const held = info === undefined ? 0 : this.#countHeld(stream, info.delivered.consumer_seq)
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

  /** Events that the server knows to be here, and nowhere else: delivered when it was asked, and not let go since. */
  #countHeld(stream: string, lastDelivery: number): number {
    const now = performance.now()
    let count = 0
    for (const { place, leasedUntil, epoch, delivery } of this.#held.values())
      if (place.stream === stream && now < leasedUntil && epoch === this.#epoch && delivery <= lastDelivery)
        count++
    return count
  }

  async #lookAtGroup(): Promise<void> {
    if (this.#link?.isConnected !== true || this.#main === undefined) return
    const { stream, consumer } = this.#main
    try {
      const info = await this.#streams?.manager.consumers.info(stream, consumer)
      if (info === undefined) return
      this.#lag = info.num_pending + info.num_ack_pending
      this.#isPaused = info.paused === true
    } catch {
      // The figures stay as they were.
    }
  }

  /** Somebody has deleted the consumer or its stream. */
  #remake(): void {
    const { subject, group, route, logger } = this.#options
    void this.#streams?.ensureConsumers(subject, group, route.durable).catch((error: unknown) => {
      logger.error(`The durable event '${subject}' cannot be received any more`, error)
    })
  }
}

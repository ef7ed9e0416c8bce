/** A store in one file: the durable events of the hub. The hub answers commands in order. */
import {
  type ClientStoreInit,
  type Consumer,
  type ConsumerInit,
  type EventContent,
  type EventHead,
  engineTransport,
  figuresOf,
  joinedHeaders,
  type OutgoingEvent,
  PublishingStore,
  readableContentOf,
  type ServerStore,
  storedMessage,
  unknownGroup
} from '@elysia-microservices/engine'
import {
  type DeadLetter,
  type DeadLetters,
  type DurableFigures,
  DurableWorker,
  type HeldEvent,
  type MessageHeaders,
  NotStoredError,
  OptionError,
  STORES_EVERYTHING,
  type StoringTransport,
  skippedAtStart,
  systemClock
} from '@elysia-microservices/transport/kit'
import { engineAt, type HubCarrier, hub } from './hub-engine.ts'

/** An event as the hub stores it. */
export interface NewEvent {
  readonly address: string
  readonly id: string
  readonly key?: string | undefined
  readonly headers?: MessageHeaders | undefined
  readonly packet: string
  /** Milliseconds since 1970, as all times of the hub. */
  readonly publishedAt: number
}

/** An event as the hub delivers it. */
interface FromStore extends NewEvent {
  readonly position: number
  readonly attempt: number
  readonly isFree: boolean
}

/** A dead letter, at its position among the dead letters of the hub. */
export interface HubLetter extends NewEvent {
  readonly position: number
  readonly group: string
  readonly reason: string
  readonly attempts: number
  readonly diedAt: number
}

/** The wishes of a consumer. */
export interface Wanted {
  readonly group: string
  readonly pattern: string
  readonly ordered: boolean
  readonly start: 'new' | 'all' | { readonly since: number } | { readonly after: number }
}

// ── publishing ───────────────────────────────────────────────────────────────────────────────────────────

interface HubOutgoing extends OutgoingEvent {
  readonly stored: NewEvent
}

/** Publishes and manages events. The publisher keeps them in order, and sends them again after a lost connection. */
export class HubClientStore extends PublishingStore<HubCarrier, HubOutgoing> {
  constructor(init: ClientStoreInit<HubCarrier>) {
    super(init, { duplicateWindow: Number.POSITIVE_INFINITY })
  }

  protected outgoing(head: EventHead, { packet, key, headers }: EventContent): HubOutgoing {
    const { address, id } = head
    const given = headers && joinedHeaders(headers)
    const stored = { address, id, key, headers: given, packet, publishedAt: Date.now() }
    return { ...head, size: Buffer.byteLength(packet), stored }
  }

  attach(carrier: HubCarrier): void {
    const { publisher } = this
    publisher.attach({
      get isConnected() {
        return carrier.isConnected
      },
      maxPayload: carrier.maxPayload,
      append(event, number) {
        carrier.ask('append', event.stored).then(
          (answer) => {
            const [position, isDuplicate] = answer as [number, boolean]
            publisher.stored(number, String(position), isDuplicate)
          },
          (error: Error) => {
            // Of a hub that is lost, the publisher waits for the next connection.
            if (carrier.isConnected)
              publisher.refused(number, new NotStoredError(error.message, false), false)
          }
        )
      }
    })
  }

  deadLetters(group: string): DeadLetters {
    const ask = async (...command: unknown[]) => (await this.connect()).ask(...command)
    const all = async () => ((await ask('letters', group)) as HubLetter[]).map(shownLetter)
    return {
      async *list({ limit } = {}) {
        yield* (await all()).slice(0, limit)
      },
      get: async (position) => (await all()).find((letter) => letter.position === position),
      redrive: async (position) => (await ask('forget', group, Number(position), true)) === true,
      discard: async (position) => (await ask('forget', group, Number(position), false)) === true
    }
  }

  async hasGroup(group: string): Promise<boolean> {
    return (await (await this.connect()).ask('has', group)) === true
  }

  async pauseGroup(group: string, isPaused: boolean): Promise<void> {
    const carrier = await this.connect()
    if (!(await carrier.ask('pause', group, isPaused))) throw unknownGroup(group, 'on this hub')
  }
}

function shownLetter({ position, packet, headers, publishedAt, diedAt, ...letter }: HubLetter): DeadLetter {
  const { group, id, key, reason, attempts } = letter
  const { pattern, data } = readableContentOf(packet)
  return {
    ...{ group, id, key, reason, attempts, data, headers: headers ?? {} },
    position: String(position),
    pattern: typeof pattern === 'string' ? pattern : letter.address,
    publishedAt: new Date(publishedAt),
    diedAt: new Date(diedAt)
  }
}

// ── handling ─────────────────────────────────────────────────────────────────────────────────────────────

/** A delivered event. */
class HubEvent implements HeldEvent {
  readonly from: FromStore
  attempt: number
  /** The number of the connection over which the event was delivered: after a loss, the hub delivers it again. */
  epoch: number

  constructor(from: FromStore, epoch: number) {
    this.from = from
    this.attempt = from.attempt
    this.epoch = epoch
  }

  get pattern(): string {
    return this.from.address
  }

  get id(): string {
    return this.from.id
  }

  get key(): string | undefined {
    return this.from.key
  }

  get isFree(): boolean {
    return this.from.isFree
  }

  get headers(): MessageHeaders | undefined {
    return this.from.headers
  }

  get publishedAt(): number {
    return this.from.publishedAt
  }

  get position(): string {
    return String(this.from.position)
  }
}

/** Most events of an ordered consumer: while some wait for others of their key, the rest can run. */
const MOST_IN_ORDER = 256

/** One durable handler in one process. The worker decides; this class carries out what it decides, at the hub. */
class HubConsumer implements Consumer<HubCarrier> {
  readonly #init: ConsumerInit
  readonly #worker: DurableWorker<HubEvent>
  #carrier: HubCarrier | undefined
  /** Our number at the hub; another one for each connection. */
  #number = 0
  #isPaused = false
  #hasBegun = false
  /** Events that have come before the service had started. */
  #early: HubEvent[] = []
  #isStopped = false
  #lag: number | undefined
  #redeliveries = 0

  constructor(init: ConsumerInit) {
    this.#init = init
    const { dispatcher, route, group, via, logger } = init
    const { ordered } = route.durable
    this.#worker = new DurableWorker<HubEvent>(
      route.durable,
      {
        run: (event) => dispatcher.event(storedMessage('hub', event, event.from.packet, group, via)),
        // Is asked before a handler begins: an event of a lost connection may be at another process by now.
        isOurs: ({ epoch }) => epoch === this.#number,
        // Only of events that are not ours, and of those behind them: the hub delivers all of them again.
        letGo() {},
        acknowledge: (event) => this.#settle(event, 'done'),
        // An ordered event comes here only when the service stops: it keeps its place.
        retry: (event, delay) => this.#settle(event, 'again', ordered ? 0 : delay, event.attempt + 1),
        bury: async (event, reason) => {
          // If the hub was lost meanwhile, it delivers the event again, to this process or another one.
          if (event.epoch !== this.#number) return
          await this.#carrier?.ask('bury', this.#number, event.from.position, reason, event.attempt)
        },
        // The hub sends more by itself when events are settled.
        left() {}
      },
      systemClock,
      logger
    )
  }

  get running(): number {
    return this.#worker.running
  }

  get figures(): DurableFigures {
    this.#ask('lag').then(
      (lag) => {
        this.#lag = lag as number
      },
      () => {}
    )
    const said = { lag: this.#lag, redeliveries: this.#redeliveries, isPaused: this.#isPaused }
    return figuresOf(this.#init, this.#worker.figures, { ...said, unavailable: undefined })
  }

  /** With the first connection, and with each that replaces one which has ended. */
  async start(carrier: HubCarrier): Promise<void> {
    this.#carrier = carrier
    await this.#join()
  }

  async #join(): Promise<void> {
    const carrier = this.#carrier as HubCarrier
    const { group, pattern, route, logger } = this.#init
    const { ordered, concurrency, start } = route.durable
    const wanted: Wanted = { group, pattern, ordered, start: startOf(start) }
    const number = carrier.consume({
      event: (from) => this.#receive(from as FromStore, number),
      paused: (isPaused) => this.#pause(isPaused === true)
    })
    this.#number = number
    const room = ordered ? MOST_IN_ORDER : concurrency
    try {
      const [isPaused, skipped] = (await carrier.ask('join', number, wanted, room)) as [boolean, number]
      if (skipped > 0) logger.warn(skippedAtStart(group, pattern, skipped))
      this.#pause(isPaused)
    } catch (error) {
      throw new OptionError('options.durable', (error as Error).message)
    }
  }

  #receive(from: FromStore, epoch: number): void {
    if (from.attempt > 1) this.#redeliveries++
    // Its handler still runs since the lost connection: its end settles this delivery.
    const known = [...this.#worker.held].find((one) => one.from.position === from.position)
    if (known !== undefined) known.epoch = epoch
    else if (this.#isStopped) this.#settle(new HubEvent(from, epoch), 'again', 0, from.attempt)
    else if (this.#hasBegun) this.#worker.add(new HubEvent(from, epoch))
    else this.#early.push(new HubEvent(from, epoch))
  }

  begin(): void {
    this.#hasBegun = true
    // The hub delivers again what came over a connection that is lost.
    for (const event of this.#early.splice(0)) if (event.epoch === this.#number) this.#worker.add(event)
  }

  #pause(isPaused: boolean): void {
    this.#isPaused = isPaused
    if (isPaused) this.#worker.close()
    else this.#worker.open()
  }

  /** The hub is lost. It delivers all again that it has no end of, so what has not begun is let go here. */
  lost(): void {
    this.#number = 0
    this.#worker.close()
    this.#worker.release()
  }

  /** The same carrier has a hub again, for which we are a new consumer. */
  restored(): void {
    if (this.#isStopped) return
    this.#join().catch((error: Error) => {
      // A hub that is lost again calls `restored` again.
      if (this.#carrier?.isConnected === true) this.#init.logger.error('The hub gives no events', error)
    })
  }

  /** The carrier has ended. The hub knows by the end of its socket. */
  async leave(): Promise<void> {
    this.lost()
  }

  /** The service stops: others get what has not begun, and what runs may end. */
  async stop(): Promise<void> {
    this.#isStopped = true
    const { released, ended } = this.#worker.stop()
    // First the hub is to send no more: it would send again what goes back.
    this.#ask('leave').catch(() => {})
    for (const event of [...released, ...this.#early.splice(0)])
      this.#settle(event, 'again', 0, event.attempt)
    await ended
  }

  /** The service waits no longer. Its carrier is closed next, and others get what runs. */
  cut(): void {
    this.#isStopped = true
  }

  #settle(event: HubEvent, word: string, ...rest: number[]): void {
    if (event.epoch === this.#number) this.#ask(word, event.from.position, ...rest).catch(() => {})
  }

  #ask(word: string, ...rest: unknown[]): Promise<unknown> {
    const carrier = this.#carrier
    if (carrier === undefined || this.#number === 0) return Promise.reject(new Error('There is no hub'))
    return carrier.ask(word, this.#number, ...rest)
  }
}

function startOf(start: ConsumerInit['route']['durable']['start']): Wanted['start'] {
  if (typeof start === 'string') return start
  return 'since' in start ? { since: start.since.getTime() } : { after: Number(start.after) }
}

/** Makes the consumers of a service. The hub needs nothing that they share. */
export class HubServerStore implements ServerStore<HubCarrier> {
  consumer(init: ConsumerInit): Consumer<HubCarrier> {
    return new HubConsumer(init)
  }

  async attach(): Promise<void> {}
  restored(): void {}
  detach(): void {}
  close(): void {}
}

/** The hub as a transport that stores events. */
export function storingHub(port: number): StoringTransport {
  const { traits } = hub(port)
  return engineTransport({
    name: 'hub',
    traits: { ...traits, stores: STORES_EVERYTHING },
    engine: () => engineAt(port),
    serverStore: () => new HubServerStore(),
    clientStore: (init) => new HubClientStore(init)
  })
}

/** Publishes durable events: many at a time, in order, and each until the server confirms it. */
import {
  CanceledError,
  DeadlineTimer,
  type EventRefusedError,
  NotStoredError,
  OverloadedError,
  PayloadTooLargeError,
  type Published,
  SlotTable
} from '@elysia-microservices/transport/kit'
import { repeat } from '../repeat.ts'
import { type Entry, firstOfEachAddress, isOpen, tooLate, uncertain } from './entry.ts'
import type { OutgoingEvent, PublisherOptions, Store } from './outgoing-event.ts'

/**
 * Most events, and most bytes of events, that the server has not confirmed yet. A stream of JetStream takes some
 * 10,000.
 */
const WINDOW = 512
const WINDOW_SIZE = 16 * 1024 * 1024
/** Most events, and most bytes of events, that may wait to be sent. */
const MAX_WAITING = 65_536
const MAX_WAITING_SIZE = 64 * 1024 * 1024
/** Milliseconds after which an event without a confirmation is sent again, because its server may be gone. */
const AGAIN_AFTER = 5_000
/** Milliseconds between attempts while the server stores nothing. */
const REFUSED_PAUSE = 250
/** Most addresses that are remembered as stored; limited, because patterns may be made at run time. */
const MAX_KNOWN = 1_024

/** Publishes events. When a connection ends, it continues with the next connection. */
export class Publisher<Event extends OutgoingEvent> {
  readonly #options: PublisherOptions
  readonly #timer = new DeadlineTimer({ wake: (now) => this.#expire(now) })
  readonly #known = new Set<string>()
  /** Events that were not sent yet, in order. */
  #waiting: Entry<Event>[] = []
  #waitingCount = 0
  #waitingSize = 0
  /** Events that were sent and are not confirmed. */
  #flight = new SlotTable<Entry<Event>>()
  /** Events that were refused for now; they are sent again, in order, when no other event is in flight. */
  #refused: Entry<Event>[] = []
  /** Events that the engine has, and stores when something else has ended there: nothing waits for them. */
  readonly #held = new Map<number, Entry<Event>>()
  /** Bytes of the events that were sent and are not confirmed. */
  #sentSize = 0
  #store: Store<Event> | undefined
  #sequence = 0
  #isEnsuring = false
  /** The engine was lost, or has refused an event: it is not known whether it stores events now. */
  #isInDoubt = false
  /** Only events that were sent alone are in flight: their answers tell whether the engine stores events. */
  #isProbing = false
  #isGoingOn = false
  /** The engine opens another way, over which the events in flight are sent again. */
  #isReopening = false
  #pause: ReturnType<typeof setTimeout> | undefined
  #stopChecking: (() => void) | undefined
  #closed: Error | undefined

  constructor(options: PublisherOptions) {
    this.#options = options
  }

  /** Whether no event is left to publish. */
  get isIdle(): boolean {
    return this.#flight.size + this.#waitingCount + this.#refused.length + this.#held.size === 0
  }

  /** Whether there is a connection, even if its server is lost at the moment. */
  get isAttached(): boolean {
    return this.#store !== undefined
  }

  /** Starts to use a new connection. */
  attach(store: Store<Event>): void {
    this.#store = store
    this.#known.clear()
    this.restored()
  }

  /** The connection has its server again: events that were not confirmed are sent again, before all other events. */
  restored(): void {
    this.#refused = [...this.#flight.all(), ...this.#held.values(), ...this.#refused]
    this.#held.clear()
    this.#flight = new SlotTable()
    this.#sentSize = 0
    this.#isInDoubt = !this.isIdle && this.#options.refusesGaps !== true
    // The wait for a way over the lost connection may never end.
    this.#isReopening = false
    this.#resend()
  }

  /** The driver has given up the connection; `attach` follows with the next connection. */
  detach(): void {
    this.#store = undefined
  }

  /** Publishes an event. Resolves when the engine has stored the event. */
  publish(event: Event): Promise<Published> {
    return new Promise((resolve, reject) => {
      const { signal, timeout, size, pattern } = event
      if (this.#closed !== undefined) return reject(this.#closed)
      if (signal?.aborted === true) return reject(new CanceledError(pattern, signal.reason, false))
      if (this.#waitingCount >= MAX_WAITING || this.#waitingSize + size > MAX_WAITING_SIZE)
        return reject(
          new OverloadedError(
            `${this.#waitingCount} events (${this.#waitingSize} bytes) already wait to be published; await each publish()`
          )
        )
      const entry: Entry<Event> = {
        event,
        sequence: this.#sequence++,
        deadline: timeout === 0 ? Number.POSITIVE_INFINITY : performance.now() + timeout,
        firstSentAt: 0,
        sentAt: 0,
        isOver: false,
        resolve,
        reject,
        forget: undefined
      }
      if (signal !== undefined) this.#endWith(signal, entry)
      this.#waiting.push(entry)
      this.#waitingCount++
      this.#waitingSize += size
      if (entry.deadline < Number.POSITIVE_INFINITY) this.#timer.wakeAt(entry.deadline)
      this.#send()
    })
  }

  #endWith(signal: AbortSignal, entry: Entry<Event>): void {
    const abort = () =>
      this.#end(entry, new CanceledError(entry.event.pattern, signal.reason, entry.firstSentAt !== 0))
    signal.addEventListener('abort', abort, { once: true })
    entry.forget = () => signal.removeEventListener('abort', abort)
  }

  /** Fails all events that are not confirmed. */
  close(error: Error, unsent: Error = error): void {
    this.#closed = unsent
    this.#timer.stop()
    clearTimeout(this.#pause)
    this.#stopChecking?.()
    for (const entry of this.#all()) this.#end(entry, entry.firstSentAt === 0 ? unsent : error)
  }

  /** The server does not let this user publish to an address. */
  forbidden(address: string, error: Error): void {
    for (const entry of this.#all()) if (entry.event.address === address) this.#end(entry, error)
  }

  /** Fails events that were not sent, because they cannot be sent. */
  failWaiting(error: Error): void {
    for (const entry of [...this.#waiting]) if (!entry.isOver) this.#end(entry, error)
  }

  #all(): Entry<Event>[] {
    return [...this.#flight.all(), ...this.#held.values(), ...this.#refused, ...this.#waiting].filter(isOpen)
  }

  #send(): void {
    const store = this.#store
    if (store?.isConnected !== true || this.#isEnsuring || this.#refused.length > 0) return
    if (this.#isProbing && this.#flight.size > 0) return
    this.#isProbing = this.#isInDoubt && this.#flight.size === 0
    const most = this.#isProbing ? 1 : (this.#options.window ?? WINDOW)
    // The end of an event that cannot be sent may replace the list.
    const waiting = this.#waiting
    let sent = 0
    while (
      sent < waiting.length &&
      this.#flight.size < most &&
      this.#held.size < WINDOW &&
      this.#sentSize < WINDOW_SIZE
    ) {
      const entry = waiting[sent] as Entry<Event>
      if (entry.isOver) {
        sent++
        continue
      }
      if (!this.#isKnown(entry)) {
        void this.#ensure(entry)
        break
      }
      sent++
      this.#transmit(store, entry)
    }
    if (sent > 0) this.#waiting = waiting.slice(sent)
    if (this.#isProbing && this.#flight.size > 0) this.#isInDoubt = false
  }

  #transmit(store: Store<Event>, entry: Entry<Event>): void {
    const { event } = entry
    const room = store.maxPayload
    if (event.size > room)
      return this.#end(
        entry,
        new PayloadTooLargeError(
          `the largest event of ${this.#options.title}`,
          room,
          event.size,
          'bytes of an event'
        )
      )
    if (entry.firstSentAt === 0) this.#leave(entry)
    entry.sentAt = performance.now()
    if (entry.firstSentAt === 0) entry.firstSentAt = entry.sentAt
    this.#flight.put(entry)
    this.#sentSize += event.size
    this.#stopChecking ??= repeat(() => this.#checkSilence(), AGAIN_AFTER / 4)
    try {
      store.append(event, entry.sequence)
    } catch (error) {
      this.#end(entry, error as Error)
    }
  }

  #isKnown({ event }: Entry<Event>): boolean {
    return this.#options.ensure === undefined || this.#known.has(event.address)
  }

  /**
   * Makes sure that events for an address are stored. The first event for the address waits for this, and so do all
   * later events.
   */
  async #ensure(entry: Entry<Event>): Promise<void> {
    const { address } = entry.event
    this.#isEnsuring = true
    let pause = 0
    try {
      await this.#options.ensure?.(address)
      if (this.#known.size >= MAX_KNOWN) this.#known.clear()
      this.#known.add(address)
    } catch (error) {
      const { retryable } = error as { retryable?: unknown }
      if (retryable !== true)
        for (const one of this.#all()) if (one.event.address === address) this.#end(one, error as Error)
      // A temporary error is the error of events whose timeout ends meanwhile.
      this.#lastRefusal = error as Error
      pause = retryable === true ? REFUSED_PAUSE : 0
    } finally {
      this.#isEnsuring = false
    }
    if (this.#closed !== undefined) return
    if (pause === 0) this.#resend()
    else this.#later(() => this.#resend())
  }

  #lastRefusal: Error | undefined

  #later(task: () => void): void {
    clearTimeout(this.#pause)
    this.#pause = setTimeout(task, REFUSED_PAUSE)
  }

  // ── answers of the engine ────────────────────────────────────────────────────────────────────────────

  /** The event of this number, if it was sent and has not ended. */
  sentEvent(number: number): Event | undefined {
    return this.#sent(number)?.event
  }

  #sent(number: number): Entry<Event> | undefined {
    const entry =
      this.#flight.get(number) ??
      this.#held.get(number) ??
      this.#refused.find(({ sequence }) => sequence === number)
    return entry?.isOver === true ? undefined : entry
  }

  /**
   * The engine has stored an event. The event may also be one that waits to be sent again: an engine that stores
   * several events together answers for all of them when the first is sent again.
   * @param isDuplicate the engine already had an event with this id
   */
  stored(number: number, position: string | undefined, isDuplicate: boolean): void {
    const entry = this.#sent(number)
    if (entry === undefined) return
    this.#land(entry)
    entry.isOver = true
    const { id, isOwnId } = entry.event
    this.#settle(entry)
    entry.resolve({ id, position, duplicate: isDuplicate && !isOwnId })
    this.#goOn()
  }

  /** The engine has the event, and stores it when something else has ended there, which may take long. */
  held(number: number): void {
    const entry = this.#flight.get(number)
    if (entry === undefined) return
    this.#flight.delete(entry)
    this.#held.set(number, entry)
    this.#goOn()
  }

  /** Sends more events as soon as all answers that have arrived together are read. */
  #goOn(): void {
    if (this.#isGoingOn) return
    this.#isGoingOn = true
    queueMicrotask(() => {
      this.#isGoingOn = false
      this.#resend()
    })
  }

  /**
   * The engine has not stored an event.
   * @param passes the reason is temporary, so the event is sent again
   */
  refused(number: number, error: NotStoredError | EventRefusedError, passes: boolean): void {
    const entry = this.#flight.get(number) ?? this.#held.get(number)
    if (entry === undefined) return
    this.#land(entry)
    if (passes) return this.#refuse(entry, error)
    this.#end(entry, error)
    this.#resend()
  }

  /** Nothing at the engine stores events for this address: the stream or queue was deleted, or was not created yet. */
  missing(number: number): void {
    const entry = this.#flight.get(number)
    if (entry === undefined) return
    this.#land(entry)
    const { address } = entry.event
    this.#known.delete(address)
    this.#refuse(
      entry,
      new NotStoredError(
        `The engine has no stream or queue that stores the event '${address}' at the moment`,
        true
      )
    )
  }

  #refuse(entry: Entry<Event>, error: Error): void {
    this.#lastRefusal = error
    this.#isInDoubt = this.#options.refusesGaps !== true
    this.#refused.push(entry)
    this.#later(() => this.#resend())
  }

  /**
   * Sends refused and lost events again, in order, once no event is in flight that could be stored before them. If it
   * is not known whether the engine stores events, the first event of each address is sent alone, because an engine
   * that has just started may refuse some events and store those behind them.
   */
  #resend(): void {
    const store = this.#store
    if (this.#refused.length === 0) return this.#send()
    if (store?.isConnected !== true || this.#flight.size > 0 || this.#isEnsuring) return
    const refused = this.#refused.filter(isOpen).sort((one, other) => one.sequence - other.sequence)
    const unknown = refused.find((entry) => !this.#isKnown(entry))
    if (unknown !== undefined) return void this.#ensure(unknown)
    const sent = new Set(this.#isInDoubt ? firstOfEachAddress(refused) : refused)
    this.#isProbing = this.#isInDoubt
    this.#isInDoubt = false
    this.#refused = refused.filter((entry) => !sent.has(entry))
    const now = performance.now()
    for (const entry of sent) {
      // After nearly the whole window, the server may have forgotten the id and would store the event a second time.
      if (now - entry.firstSentAt < this.#options.duplicateWindow * 0.8) this.#transmit(store, entry)
      else this.#end(entry, uncertain(entry.event, this.#options.title))
    }
    // All events of this round have ended, so no answer will send the others.
    if (this.#refused.length > 0 && this.#flight.size === 0) return this.#goOn()
    this.#send()
  }

  #checkSilence(): void {
    if (this.isIdle) {
      this.#stopChecking?.()
      this.#stopChecking = undefined
      return
    }
    if (this.#isSilent && !this.#isReopening) void this.#sendAgain()
    // The store was not connected when refused events were to be sent again, and may be by now.
    else if (this.#flight.size === 0) this.#resend()
  }

  get #isSilent(): boolean {
    const [oldest] = this.#flight.all()
    return oldest !== undefined && performance.now() - oldest.sentAt > AGAIN_AFTER
  }

  async #sendAgain(): Promise<void> {
    this.#isReopening = true
    await this.#store?.reopen?.().catch(() => {})
    this.#isReopening = false
    // Meanwhile the engine may have confirmed all events.
    if (!this.#isSilent) return
    // If something else listens at the address, the engine does not report that nothing stores its events any more, so
    // all addresses are checked again.
    this.#known.clear()
    this.restored()
  }

  #expire(now: number): void {
    let next = Number.POSITIVE_INFINITY
    for (const entry of this.#all()) {
      if (entry.deadline > now) next = Math.min(next, entry.deadline)
      else this.#end(entry, this.#tooLate(entry))
    }
    if (next < Number.POSITIVE_INFINITY) this.#timer.wakeAt(next)
  }

  #tooLate(entry: Entry<Event>): Error {
    if (entry.firstSentAt === 0 && this.#lastRefusal !== undefined) return this.#lastRefusal
    if (this.#held.has(entry.sequence)) return tooLate(entry, this.#options.holding)
    // A server with a full disk does not answer.
    const silent =
      this.#store?.isConnected === true && entry.firstSentAt !== 0
        ? `the ${this.#options.title} server is connected; its log may tell the reason, such as a full disk`
        : undefined
    return tooLate(entry, this.#lastRefusal?.message ?? this.#options.halted?.() ?? silent)
  }

  /** Removes the event from those that the server has. @returns whether it was there */
  #land(entry: Entry<Event>): boolean {
    const isThere = this.#flight.delete(entry) || this.#held.delete(entry.sequence)
    if (isThere) this.#sentSize -= entry.event.size
    return isThere
  }

  #settle(entry: Entry<Event>): void {
    entry.forget?.()
    this.#lastRefusal = undefined
  }

  #end(entry: Entry<Event>, error: Error): void {
    // Other events may have waited for the end of this one.
    if (this.#land(entry)) this.#goOn()
    if (entry.isOver) return
    entry.isOver = true
    if (entry.firstSentAt === 0) this.#leave(entry)
    entry.forget?.()
    entry.reject(error)
    // The lists are not filtered for each event, because many events end at once while there is no server.
    if (this.#waiting.length > 2 * this.#waitingCount + 16) this.#waiting = this.#waiting.filter(isOpen)
    if (this.#refused.length > 16) return
    this.#refused = this.#refused.filter(isOpen)
  }

  /** Removes the event from the count of events that wait to be sent. */
  #leave({ event }: Entry<Event>): void {
    this.#waitingCount--
    this.#waitingSize -= event.size
  }
}

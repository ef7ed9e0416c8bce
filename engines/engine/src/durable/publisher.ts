/** Publishes durable events: many at a time, in order, and each until the server confirms it. */
import {
  CanceledError,
  DeadlineTimer,
  type EventRefusedError,
  type NotStoredError,
  type Published
} from '@elysia-microservices/transport/kit'
import { repeat } from '../repeat.ts'
import { type Entry, isOpen, newEntry, nowhere, tooLarge, tooLate, tooMany, uncertain } from './entry.ts'
import { InFlight } from './in-flight.ts'
import { Lane } from './lane.ts'
import type { OutgoingEvent, PublisherOptions, Store } from './outgoing-event.ts'

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
  /** Number and bytes of events that were not sent yet, also in lanes. */
  #waitingCount = 0
  #waitingSize = 0
  /** Addresses whose events cannot simply be sent. */
  readonly #lanes = new Map<string, Lane<Event>>()
  readonly #inFlight: InFlight<Event>
  #store: Store<Event> | undefined
  #sequence = 0
  #isGoingOn = false
  /** The engine opens another way, over which the events in flight are sent again. */
  #isReopening = false
  #pausing: ReturnType<typeof setTimeout> | undefined
  #stopChecking: (() => void) | undefined
  #closed: Error | undefined

  constructor(options: PublisherOptions) {
    this.#options = options
    this.#inFlight = new InFlight(options.window)
  }

  /** Whether no event is left to publish. */
  get isIdle(): boolean {
    return this.#all().length === 0
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

  /** The connection has its server again: events that were not confirmed are sent again, before later ones of theirs. */
  restored(): void {
    const lost = this.#inFlight.clear()
    for (const entry of [...lost, ...this.#waiting]) if (isOpen(entry)) this.#laneOf(entry.event).add(entry)
    this.#waiting = []
    for (const lane of this.#lanes.values()) lane.restored(this.#mayHaveGaps)
    // The wait for a way over the lost connection may never end.
    this.#isReopening = false
    this.#send()
  }

  /** Whether the engine may have stored an event behind one that it has refused or lost. */
  get #mayHaveGaps(): boolean {
    return this.#options.refusesGaps !== true
  }

  /** The driver has given up the connection; `attach` follows with the next connection. */
  detach(): void {
    this.#store = undefined
  }

  /** Publishes an event. Resolves when the engine has stored the event. */
  publish(event: Event): Promise<Published> {
    return new Promise((resolve, reject) => {
      const { signal, size, pattern } = event
      if (this.#closed !== undefined) return reject(this.#closed)
      if (signal?.aborted === true) return reject(new CanceledError(pattern, signal.reason, false))
      if (this.#waitingCount >= MAX_WAITING || this.#waitingSize + size > MAX_WAITING_SIZE)
        return reject(tooMany(this.#waitingCount, this.#waitingSize))
      const entry = newEntry(event, this.#sequence++, resolve, reject)
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
    clearTimeout(this.#pausing)
    this.#stopChecking?.()
    for (const entry of this.#all()) this.#end(entry, entry.firstSentAt === 0 ? unsent : error)
  }

  /** The server does not let this user publish to an address. */
  forbidden(address: string, error: Error): void {
    for (const entry of this.#all()) if (entry.event.address === address) this.#end(entry, error)
  }

  /** Fails events that were not sent, because they cannot be sent. */
  failWaiting(error: Error): void {
    for (const entry of this.#all()) if (entry.firstSentAt === 0) this.#end(entry, error)
  }

  #all(): Entry<Event>[] {
    const inLanes = [...this.#lanes.values()].flatMap((lane) => lane.open)
    return [...this.#inFlight.all(), ...inLanes, ...this.#waiting].filter(isOpen)
  }

  /** The lane of an address; makes one if there is none. */
  #laneOf({ address }: Event): Lane<Event> {
    let lane = this.#lanes.get(address)
    if (lane === undefined) {
      lane = new Lane(address, this.#inFlight.countAt(address))
      this.#lanes.set(address, lane)
    }
    return lane
  }

  #send(): void {
    const store = this.#store
    if (store?.isConnected !== true) return
    for (const lane of this.#lanes.values()) this.#sendLane(store, lane)
    // The end of an event that cannot be sent may replace the list.
    const waiting = this.#waiting
    let sent = 0
    for (; sent < waiting.length && this.#inFlight.hasRoom; sent++) {
      const entry = waiting[sent] as Entry<Event>
      const { address } = entry.event
      if (entry.isOver) continue
      const isApart = (this.#lanes.size > 0 && this.#lanes.has(address)) || !this.#isKnown(address)
      if (!isApart) this.#transmit(store, entry)
      else {
        const lane = this.#laneOf(entry.event)
        lane.add(entry)
        this.#sendLane(store, lane)
      }
    }
    if (sent > 0) this.#waiting = waiting.slice(sent)
  }

  #sendLane(store: Store<Event>, lane: Lane<Event>): void {
    while (lane.isFree && this.#inFlight.hasRoom && !lane.isEmpty) {
      if (!this.#isKnown(lane.address)) return void this.#ensure(lane)
      this.#transmit(store, lane.take() as Entry<Event>)
    }
    const isDone = lane.isEmpty && lane.isFree
    if (isDone && (!lane.isInDoubt || this.#lanes.size > MAX_KNOWN)) this.#lanes.delete(lane.address)
  }

  #transmit(store: Store<Event>, entry: Entry<Event>): void {
    const { event, firstSentAt } = entry
    const room = store.maxPayload
    if (event.size > room) return this.#end(entry, tooLarge(event, this.#options.title, room))
    const now = performance.now()
    // After nearly the whole window, the server may have forgotten the id and would store the event a second time.
    if (firstSentAt !== 0 && now - firstSentAt >= this.#options.duplicateWindow * 0.8)
      return this.#end(entry, uncertain(event, this.#options.title))
    if (firstSentAt === 0) this.#leave(entry)
    entry.sentAt = now
    entry.firstSentAt ||= now
    this.#inFlight.put(entry)
    const lane = this.#lanes.size === 0 ? undefined : this.#lanes.get(event.address)
    if (lane !== undefined) lane.flight++
    this.#stopChecking ??= repeat(() => this.#checkSilence(), AGAIN_AFTER / 4)
    try {
      store.append(event, entry.sequence)
    } catch (error) {
      this.#end(entry, error as Error)
    }
  }

  #isKnown(address: string): boolean {
    return this.#options.ensure === undefined || this.#known.has(address)
  }

  /** Makes sure that events of an address are stored. All of its events wait for this. */
  async #ensure(lane: Lane<Event>): Promise<void> {
    const { address } = lane
    lane.isEnsuring = true
    try {
      await this.#options.ensure?.(address)
      if (this.#known.size >= MAX_KNOWN) this.#known.clear()
      this.#known.add(address)
    } catch (error) {
      const { retryable } = error as { retryable?: unknown }
      // A temporary error is the error of events whose timeout ends meanwhile.
      lane.refusal = error as Error
      if (retryable === true) this.#pause(lane)
      else this.forbidden(address, error as Error)
    } finally {
      lane.isEnsuring = false
    }
    if (this.#closed === undefined) this.#send()
  }

  #pause(lane: Lane<Event>): void {
    lane.isPausing = true
    this.#pausing ??= setTimeout(() => {
      this.#pausing = undefined
      for (const one of this.#lanes.values()) one.isPausing = false
      this.#send()
    }, REFUSED_PAUSE)
  }

  // ── answers of the engine ────────────────────────────────────────────────────────────────────────────

  /** The event of this number, if it was sent and has not ended. */
  sentEvent(number: number): Event | undefined {
    return this.#sent(number)?.event
  }

  #sent(number: number): Entry<Event> | undefined {
    const entry = this.#inFlight.get(number) ?? this.#inLanes(number)
    return entry?.isOver === true ? undefined : entry
  }

  #inLanes(number: number): Entry<Event> | undefined {
    for (const lane of this.#lanes.values()) {
      const entry = lane.find(number)
      if (entry !== undefined) return entry
    }
    return undefined
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
    entry.forget?.()
    entry.resolve({ id, position, duplicate: isDuplicate && !isOwnId })
    this.#goOn()
  }

  /** The engine has the event, and stores it when something else has ended there, which may take long. */
  held(number: number): void {
    const entry = this.#inFlight.get(number)
    if (entry === undefined || !this.#inFlight.hold(entry)) return
    this.#landed(entry)
    this.#goOn()
  }

  /** Sends more events as soon as all answers that have arrived together are read. */
  #goOn(): void {
    if (this.#isGoingOn) return
    this.#isGoingOn = true
    queueMicrotask(() => {
      this.#isGoingOn = false
      this.#send()
    })
  }

  /**
   * The engine has not stored an event.
   * @param passes the reason is temporary, so the event is sent again
   */
  refused(number: number, error: NotStoredError | EventRefusedError, passes: boolean): void {
    const entry = this.#inFlight.get(number)
    if (entry === undefined) return
    this.#land(entry)
    if (passes) return this.#refuse(entry, error)
    this.#end(entry, error)
    this.#send()
  }

  /** Nothing at the engine stores events for this address: the stream or queue was deleted, or was not created yet. */
  missing(number: number): void {
    const entry = this.#inFlight.get(number)
    if (entry === undefined) return
    this.#land(entry)
    const { address } = entry.event
    this.#known.delete(address)
    this.#refuse(entry, nowhere(address))
  }

  #refuse(entry: Entry<Event>, error: Error): void {
    const lane = this.#laneOf(entry.event)
    lane.refused(entry, error, this.#mayHaveGaps)
    this.#pause(lane)
  }

  #checkSilence(): void {
    if (this.isIdle) {
      this.#stopChecking?.()
      this.#stopChecking = undefined
      return
    }
    if (this.#isSilent && !this.#isReopening) void this.#sendAgain()
    // The store was not connected when refused events were to be sent again, and may be by now.
    else if (this.#inFlight.isEmpty) this.#send()
  }

  get #isSilent(): boolean {
    const { oldest } = this.#inFlight
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
    const refusal = this.#lanes.get(entry.event.address)?.refusal
    if (entry.firstSentAt === 0 && refusal !== undefined) return refusal
    if (this.#inFlight.isHeld(entry)) return tooLate(entry, this.#options.holding)
    // A server with a full disk does not answer.
    const silent =
      this.#store?.isConnected === true && entry.firstSentAt !== 0
        ? `the ${this.#options.title} server is connected; its log may tell the reason, such as a full disk`
        : undefined
    return tooLate(entry, refusal?.message ?? this.#options.halted?.() ?? silent)
  }

  /** Removes the event from those that the server has. @returns whether it was there */
  #land(entry: Entry<Event>): boolean {
    const place = this.#inFlight.remove(entry)
    if (place === 'sent') this.#landed(entry)
    return place !== undefined
  }

  /** The event is not in flight any more. */
  #landed({ event }: Entry<Event>): void {
    const lane = this.#lanes.size === 0 ? undefined : this.#lanes.get(event.address)
    if (lane !== undefined) lane.flight--
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
  }

  /** Removes the event from the count of events that wait to be sent. */
  #leave({ event }: Entry<Event>): void {
    this.#waitingCount--
    this.#waitingSize -= event.size
  }
}

/**
 * The events of an address that cannot simply be sent: the engine was lost or has refused one, or it is not known yet
 * whether it stores them. They wait here, in order, and events of other addresses do not wait for them.
 */
import { type Entry, isOpen } from './entry.ts'
import type { OutgoingEvent } from './outgoing-event.ts'

/** Events at the begin of the list that were taken and are kept at most. */
const MOST_TAKEN = 1_024

export class Lane<Event extends OutgoingEvent> {
  readonly address: string
  /** Events that are to be sent: those that come back, and later ones of the address. */
  #entries: Entry<Event>[] = []
  #taken = 0
  #isSorted = true
  /** How many events of the address are in flight. */
  flight: number
  /** Nothing more is sent until all that are in flight have their answers. */
  #isShut = false
  /** It is not known whether the engine stores events: the next one is sent alone. */
  isInDoubt = false
  /** The engine is asked whether it stores events of the address. */
  isEnsuring = false
  /** A temporary refusal was a moment ago. */
  isPausing = false
  /** Why the engine has refused an event last. */
  refusal: Error | undefined

  constructor(address: string, flight: number) {
    this.address = address
    this.flight = flight
  }

  add(entry: Entry<Event>): void {
    const last = this.#entries.at(-1)
    if (last !== undefined && last.sequence > entry.sequence) this.#isSorted = false
    this.#entries.push(entry)
  }

  /** The engine has refused an event. @param isInDoubt it may have stored those behind it */
  refused(entry: Entry<Event>, refusal: Error, isInDoubt: boolean): void {
    this.add(entry)
    this.refusal = refusal
    this.isInDoubt = isInDoubt
    this.#isShut = true
  }

  /** The connection is another one, or has its server again. */
  restored(isInDoubt: boolean): void {
    this.flight = 0
    this.isPausing = false
    this.isInDoubt = isInDoubt && !this.isEmpty
  }

  /** The events that have not ended. */
  get open(): readonly Entry<Event>[] {
    return this.#entries.slice(this.#taken).filter(isOpen)
  }

  /** Whether all events have ended or were taken. */
  get isEmpty(): boolean {
    while (this.#entries[this.#taken]?.isOver === true) this.#taken++
    return this.#taken === this.#entries.length
  }

  /** Whether something may be sent now. */
  get isFree(): boolean {
    return !this.isEnsuring && !this.isPausing && (!this.#isShut || this.flight === 0)
  }

  find(number: number): Entry<Event> | undefined {
    return this.#entries.find(({ sequence }, at) => sequence === number && at >= this.#taken)
  }

  /** Takes the next event. */
  take(): Entry<Event> | undefined {
    if (!this.#isSorted || this.#taken > MOST_TAKEN) {
      this.#entries = this.open.toSorted((one, other) => one.sequence - other.sequence)
      this.#taken = 0
      this.#isSorted = true
    }
    if (this.isEmpty) return undefined
    this.#isShut = this.isInDoubt
    this.isInDoubt = false
    return this.#entries[this.#taken++]
  }
}

/** The events that the engine has and has not confirmed, within the window of a publisher. */
import { SlotTable } from '@elysia-microservices/transport/kit'
import type { Entry } from './entry.ts'
import type { OutgoingEvent } from './outgoing-event.ts'

/** Most events, and bytes of events, that the server has not confirmed. A stream of JetStream takes some 10,000. */
const WINDOW = 512
const WINDOW_SIZE = 16 * 1024 * 1024

export class InFlight<Event extends OutgoingEvent> {
  readonly #window: number
  /** Events that were sent and are not confirmed. */
  #sent = new SlotTable<Entry<Event>>()
  /** Events that the engine stores when something else has ended there: nothing waits for them. */
  readonly #held = new Map<number, Entry<Event>>()
  #size = 0

  /** @param window most events that are not confirmed yet. Default: 512 */
  constructor(window = WINDOW) {
    this.#window = window
  }

  get hasRoom(): boolean {
    return this.#sent.size < this.#window && this.#held.size < WINDOW && this.#size < WINDOW_SIZE
  }

  /** Whether nothing was sent that is not confirmed or held. */
  get isEmpty(): boolean {
    return this.#sent.size === 0
  }

  /** The first event that was sent and is neither confirmed nor held. */
  get oldest(): Entry<Event> | undefined {
    return this.#sent.all()[0]
  }

  all(): Entry<Event>[] {
    return [...this.#sent.all(), ...this.#held.values()]
  }

  /** The number of events of an address that were sent and are neither confirmed nor held. */
  countAt(address: string): number {
    return this.#sent.all().filter(({ event }) => event.address === address).length
  }

  get(number: number): Entry<Event> | undefined {
    return this.#sent.get(number) ?? this.#held.get(number)
  }

  isHeld({ sequence }: Entry<Event>): boolean {
    return this.#held.has(sequence)
  }

  /** The event is sent. */
  put(entry: Entry<Event>): void {
    this.#sent.put(entry)
    this.#size += entry.event.size
  }

  /** The engine has the event, and stores it later. @returns false: it has ended, or is held already */
  hold(entry: Entry<Event>): boolean {
    if (!this.#sent.delete(entry)) return false
    this.#held.set(entry.sequence, entry)
    return true
  }

  /** Removes an event. @returns where it was; `undefined`: nowhere */
  remove(entry: Entry<Event>): 'sent' | 'held' | undefined {
    const wasSent = this.#sent.delete(entry)
    if (!wasSent && !this.#held.delete(entry.sequence)) return undefined
    this.#size -= entry.event.size
    return wasSent ? 'sent' : 'held'
  }

  /** Removes all events, because their connection is lost. @returns them */
  clear(): Entry<Event>[] {
    const lost = this.all()
    this.#held.clear()
    this.#sent = new SlotTable()
    this.#size = 0
    return lost
  }
}

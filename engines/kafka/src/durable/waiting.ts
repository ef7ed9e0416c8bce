/** Events of one durable handler that have arrived, and for which its worker had no room yet. */
import { type Clock, LONGEST_TIME } from '@elysia-microservices/transport/kit'
import type { Source } from './partition.ts'
import type { KafkaEvent } from './stored.ts'

/** Most events that may wait here until they are due: of the events read for a retry, and of the others. */
const MOST_WAITING = 1_000

/** The waiting events, in the order in which they are to begin: retried events first. */
export class WaitingEvents {
  /** How many of the first events of `#fresh` were taken. Removing each one from the array would move all others. */
  #taken = 0
  #fresh: KafkaEvent[] = []
  #again: KafkaEvent[] = []
  /** Events that are not due yet, with a function that cancels the timer of each. */
  readonly #early = new Map<KafkaEvent, () => void>()
  /** How many of the events in `#early` were not read from a topic of retries: their copies could not be stored. */
  #earlyFresh = 0
  readonly #due: () => void
  readonly #clock: Clock

  /** @param due is called when an event becomes due */
  constructor(due: () => void, clock: Clock) {
    this.#due = due
    this.#clock = clock
  }

  /** Whether reading has to pause. @param of `'fresh'`: the topic of the pattern; `'again'`: the topics of retries */
  isFull(of: 'fresh' | 'again'): boolean {
    return of === 'fresh'
      ? this.#fresh.length > this.#taken || this.#earlyFresh > MOST_WAITING
      : this.#early.size + this.#again.length > MOST_WAITING
  }

  add(event: KafkaEvent): void {
    this.#fresh.push(event)
  }

  /** Adds an event that is to run again. @param delay milliseconds until then */
  addLater(event: KafkaEvent, delay: number): void {
    if (delay <= 0) return void this.#again.push(event)
    const due = () => {
      this.#forget(event)
      this.#again.push(event)
      this.#due()
    }
    this.#early.set(event, this.#clock.after(Math.min(delay, LONGEST_TIME), due))
    if (!event.isFree) this.#earlyFresh++
  }

  /** Puts events back in front of all others. */
  putBack(events: readonly KafkaEvent[]): void {
    this.#again = [...events.filter(({ isFree }) => isFree), ...this.#again]
    this.#fresh = [...events.filter(({ isFree }) => !isFree), ...this.#fresh.slice(this.#taken)]
    this.#taken = 0
  }

  next(): KafkaEvent | undefined {
    const again = this.#again.shift()
    if (again !== undefined) return again
    const event = this.#fresh[this.#taken]
    if (event === undefined) return undefined
    this.#taken++
    // The array is shortened only when half of it was taken, because shortening copies the rest.
    if (this.#taken < this.#fresh.length / 2) return event
    this.#fresh = this.#fresh.slice(this.#taken)
    this.#taken = 0
    return event
  }

  /** Drops the events of some partitions. */
  drop(sources: ReadonlySet<Source>): void {
    const stays = ({ source }: KafkaEvent) => !sources.has(source)
    this.#fresh = this.#fresh.slice(this.#taken).filter(stays)
    this.#taken = 0
    this.#again = this.#again.filter(stays)
    for (const [event, end] of this.#early) {
      if (stays(event)) continue
      end()
      this.#forget(event)
    }
  }

  #forget(event: KafkaEvent): void {
    this.#early.delete(event)
    if (!event.isFree) this.#earlyFresh--
  }

  /** Cancels the timers of all events that are not due yet. */
  stop(): void {
    for (const end of this.#early.values()) end()
    this.#early.clear()
    this.#earlyFresh = 0
  }
}

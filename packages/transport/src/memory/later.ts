/** The events of `memory()` that wait for their time. */
import { type Clock, LOOK_AT_CLOCK } from '../durable/clock.ts'

/** An event that waits. */
export interface Waiting {
  /** Identifies the event: its pattern and its id. */
  readonly name: string
  /** Milliseconds since 1970. */
  readonly due: number
  /** Delivers the event. */
  readonly fire: () => void
}

/** Keeps events until they are due. */
export class Later<Event extends Waiting> {
  readonly #clock: Clock
  readonly #events = new Map<string, Event>()
  /** Somebody handles events here; without anybody, a timer would only keep the process running. */
  #isAwake = false
  #cancel = () => {}

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get size(): number {
    return this.#events.size
  }

  has(name: string): boolean {
    return this.#events.has(name)
  }

  /** The events, the soonest first. */
  get all(): readonly Event[] {
    return [...this.#events.values()].sort((one, other) => one.due - other.due)
  }

  add(event: Event): void {
    this.#events.set(event.name, event)
    this.#wait()
  }

  /** Removes an event, and returns it; `undefined` if it does not wait. */
  take(name: string): Event | undefined {
    const event = this.#events.get(name)
    if (this.#events.delete(name)) this.#wait()
    return event
  }

  /** Events are delivered from now on, those first that have become due meanwhile. */
  wake(): void {
    this.#isAwake = true
    this.#wait()
  }

  /** Nobody handles events any more: they wait, also those that become due. */
  sleep(): void {
    this.#isAwake = false
    this.#cancel()
  }

  #wait(): void {
    this.#cancel()
    const [first] = this.all
    if (first === undefined || !this.#isAwake) return
    const left = first.due - this.#clock.now()
    this.#cancel = this.#clock.after(Math.min(Math.max(0, left), LOOK_AT_CLOCK), () => this.#look())
  }

  #look(): void {
    const now = this.#clock.now()
    for (const event of this.all) {
      if (event.due > now) break
      this.#events.delete(event.name)
      event.fire()
    }
    this.#wait()
  }
}

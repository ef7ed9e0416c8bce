/** Stores the callbacks of `on(event, callback)` by event. */
import { isThenable, OptionError, whenSettled } from '@elysia-microservices/transport/kit'

type Callback = (...args: never[]) => void

/** Stores callbacks and calls them. */
export class Listeners<Events extends Record<keyof Events, Callback>> {
  readonly #callbacks: Map<keyof Events, Callback[]>
  readonly #failed: (error: unknown) => void

  /**
   * @param events names of all events
   * @param failed is called when a callback throws, because a connection must not fail for that reason
   */
  constructor(events: readonly (keyof Events)[], failed: (error: unknown) => void) {
    this.#callbacks = new Map(events.map((event) => [event, []]))
    this.#failed = failed
  }

  /** @throws {OptionError} the event is unknown, so the callback would never be called */
  add(event: keyof Events, callback: Callback): void {
    const callbacks = this.#callbacks.get(event)
    if (callbacks === undefined) {
      const known = [...this.#callbacks.keys()].map((name) => `'${String(name)}'`).join(', ')
      throw OptionError.expected('event', `one of ${known}`, event)
    }
    callbacks.push(callback)
  }

  /** Calls all callbacks of an event. */
  emit<Event extends keyof Events>(event: Event, ...args: Parameters<Events[Event]>): void {
    for (const callback of this.#callbacks.get(event) ?? []) {
      try {
        const result = (callback as (...args: unknown[]) => unknown)(...args)
        if (typeof result === 'object' && result !== null && isThenable(result))
          void whenSettled(result, () => {}, this.#failed)
      } catch (error) {
        this.#failed(error)
      }
    }
  }
}

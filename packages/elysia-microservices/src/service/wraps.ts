/** The middleware of one service. It has a place in the chain: it covers the handlers that follow it. */
import { type Middleware, OptionError, type ReceivedMessage } from '@elysia-microservices/transport/kit'

type Wrap = Middleware<ReceivedMessage>

/** The middleware that `wrap()` has added to one service or group. */
export class Wraps {
  /**
   * Middleware before all handlers, the first outermost. In the service that listens, it also gets the messages that
   * nobody handles, and an event once for all its handlers.
   */
  readonly leading: Wrap[] = []
  /** Middleware behind a handler, the first outermost. */
  readonly later: Wrap[] = []
  /** Middleware that no handler follows yet. */
  #idle: Wrap[] = []
  #hasHandlers = false
  /** Controllers have no place in the chain, so all middleware covers them. */
  #hasControllers = false

  add(middleware: Wrap): void {
    ;(this.#hasHandlers ? this.later : this.leading).push(middleware)
    this.#idle.push(middleware)
  }

  /** Notes that a handler is added now. Returns the middleware that covers it, inside of `leading`. */
  coverNext(): readonly Wrap[] {
    this.#hasHandlers = true
    this.#idle = []
    return [...this.later]
  }

  /** Notes that controllers are added. Returns the middleware that covers them, to which more may be added. */
  coverControllers(): readonly Wrap[] {
    this.#hasControllers = true
    return this.later
  }

  /**
   * Checks that each middleware covers something.
   * @param listens whether the service itself listens, so that its leading middleware gets messages without a handler
   * @throws {OptionError} no handler follows a middleware
   */
  check(listens: boolean): void {
    const idle = this.#hasControllers
      ? undefined
      : this.#idle.find((one) => !listens || this.later.includes(one))
    if (idle === undefined) return
    const name = idle.name === '' ? 'middleware' : idle.name
    throw new OptionError(
      'The argument of wrap()',
      `wrap(${name}) covers nothing: middleware covers the handlers that follow it in the chain of its own service, and none does; write it before them, or in the service that uses this one`
    )
  }
}

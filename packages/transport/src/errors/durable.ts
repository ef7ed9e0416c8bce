/** Errors that handlers of durable events throw, and errors of events that were not stored. */
import { LocalError, OptionError } from './local.ts'

/**
 * Thrown by the handler of a durable event: the event is acknowledged and not run again. The log gets a line.
 * @example
 * ```ts
 * import { Discard, microservice } from 'elysia-microservices'
 *
 * microservice({ transport: 'tcp' }).event('order.placed', ({ data }: { data: { id?: number } }) => {
 *   if (data.id === undefined) throw new Discard('an order without an id')
 * })
 * ```
 */
export class Discard extends Error {
  override name = 'Discard'
}

/**
 * Thrown by the handler of a durable event: it runs again after the given time instead of the next pause of `retry`, also
 * if this was the last attempt. After 20 deliveries more than `retry.attempts` the event is a dead letter.
 * @example
 * ```ts
 * import { RetryLater } from 'elysia-microservices'
 *
 * function handle(busyFor: number) {
 *   if (busyFor > 0) throw new RetryLater(busyFor) // milliseconds
 * }
 * ```
 */
export class RetryLater extends Error {
  override name = 'RetryLater'
  /** Milliseconds. */
  readonly delay: number

  /** @throws {OptionError} `delay` is no time */
  constructor(delay: number, message = `to be run again in ${delay} ms`) {
    if (!(typeof delay === 'number' && delay >= 0 && delay < 2 ** 31))
      throw OptionError.expected(
        'The delay of RetryLater',
        'milliseconds, from 0 to 2147483647 (24.8 days)',
        delay
      )
    super(message)
    this.delay = delay
  }
}

/** The engine does not store an event: it is full, off, or does not allow it. Code `NOT_STORED`. */
export class NotStoredError extends LocalError {
  override name = 'NotStoredError'
  readonly mayHaveRun = false
  readonly retryable: boolean

  /** @param message what the engine says, and what to do */
  constructor(message: string, retryable: boolean, cause?: unknown) {
    super('NOT_STORED', message, cause === undefined ? undefined : { cause })
    this.retryable = retryable
  }
}

/**
 * The engine refuses this event as it is, such as its headers: another attempt fails too, and others are not concerned.
 * Code `EVENT_REFUSED`.
 */
export class EventRefusedError extends LocalError {
  override name = 'EventRefusedError'
  readonly mayHaveRun = false
  readonly retryable = false

  /** @param message what the engine says */
  constructor(message: string, cause?: unknown) {
    super('EVENT_REFUSED', message, cause === undefined ? undefined : { cause })
  }
}

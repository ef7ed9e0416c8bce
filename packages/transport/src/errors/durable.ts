/** Errors that handlers of durable events throw, and errors of events that were not stored. */
import { LocalError, OptionError } from './local.ts'

/**
 * Thrown by the handler of a durable event: the event is acknowledged and not delivered again. A line is logged.
 * @example
 * ```ts
 * import { Discard, microservice } from 'elysia-microservices'
 *
 * microservice({ transport: 'tcp' }).event('order.placed', ({ data }: { data: { id?: number } }) => {
 * if (data.id === undefined) throw new Discard('an order without an id')
 * })
 * ```
 */
export class Discard extends Error {
  override name = 'Discard'
}

/**
 * Thrown by the handler of a durable event: the event is delivered again after the given time instead of the next pause
 * of `retry`, even if this was the last attempt. After 20 deliveries more than `retry.attempts` the event becomes a
 * dead letter.
 * @example
 * ```ts
 * import { RetryLater } from 'elysia-microservices'
 *
 * function handle(busyFor: number) {
 * if (busyFor > 0) throw new RetryLater(busyFor) // milliseconds
 * }
 * ```
 */
export class RetryLater extends Error {
  override name = 'RetryLater'
  /** Milliseconds until the event is delivered again. */
  readonly delay: number

  /** @throws {OptionError} `delay` is not a number of milliseconds */
  constructor(delay: number, message = `to be run again in ${delay} ms`) {
    if (!(typeof delay === 'number' && delay >= 0 && delay < 2 ** 31))
      throw OptionError.expected('The delay of RetryLater', 'milliseconds from 0 to 24.8 days', delay)
    super(message)
    this.delay = delay
  }
}

/**
 * The engine does not store an event: its storage is full or switched off, or it does not allow the event. Code
 * `NOT_STORED`.
 */
export class NotStoredError extends LocalError {
  override name = 'NotStoredError'
  readonly mayHaveRun = false
  readonly retryable: boolean

  /** @param message the reason that the engine gives, and what the user can do */
  constructor(message: string, retryable: boolean, cause?: unknown) {
    super('NOT_STORED', message, cause === undefined ? undefined : { cause })
    this.retryable = retryable
  }
}

/**
 * The engine refuses this event because of its content, such as its headers: a further attempt would fail too; other
 * events are not affected. Code `EVENT_REFUSED`.
 */
export class EventRefusedError extends LocalError {
  override name = 'EventRefusedError'
  readonly mayHaveRun = false
  readonly retryable = false

  /** @param message the reason that the engine gives */
  constructor(message: string, cause?: unknown) {
    super('EVENT_REFUSED', message, cause === undefined ? undefined : { cause })
  }
}

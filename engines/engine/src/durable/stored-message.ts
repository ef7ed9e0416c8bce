/** Makes the message for the handlers of an event that was stored. */
import {
  type DeliveredEvent,
  type Delivery,
  deliveryOf,
  IncomingMessage,
  type MessageHeaders,
  ownIn,
  type StoredParts
} from '@elysia-microservices/transport/kit'
import type { Words } from '../carrier.ts'
import { contentOf, patternOf } from '../server/incoming.ts'

/** A stored event that this process has received. */
export interface StoredEvent extends DeliveredEvent {
  readonly pattern: string
  /** The headers with which the event was published. */
  readonly headers: MessageHeaders | undefined
  /**
   * Returns a header of this library without making the others; never throws. It is asked for of each event. Default: it
   * is found among `headers`.
   */
  own?(name: string): string | undefined
}

/**
 * Fields of a stored event that most handlers do not read, made on demand because they cost more than all other fields.
 */
export class StoredFields implements StoredParts {
  readonly #event: StoredEvent
  readonly #group: string
  /** A copy, because `attempt` of the event grows when the event is retried in this process. */
  readonly #attempt: number
  readonly #now = Date.now()
  /** The headers; `null`: not read yet. */
  #headers: MessageHeaders | undefined | null = null
  #delivery: Delivery | undefined

  constructor(event: StoredEvent, group: string) {
    this.#event = event
    this.#group = group
    this.#attempt = event.attempt
  }

  get metadata(): MessageHeaders | undefined {
    if (this.#headers === null) this.#headers = this.#event.headers
    return this.#headers
  }

  own(name: string): string | undefined {
    const event = this.#event
    return event.own === undefined ? ownIn(this, name) : event.own(name)
  }

  get delivery(): Delivery {
    if (this.#delivery === undefined) {
      const { id, key, publishedAt, position, redelivered } = this.#event
      const attempt = this.#attempt
      const event = { id, key, publishedAt, position, attempt, redelivered: redelivered || attempt > 1 }
      this.#delivery = deliveryOf(event, this.#group, this.#now)
    }
    return this.#delivery
  }
}

/**
 * Makes the message of a stored event for the dispatcher.
 * @param via identifies the handlers that get the message
 * @throws {SyntaxError} the body of the event is not JSON
 */
export function storedMessage(
  transport: string,
  event: StoredEvent,
  body: Words,
  group: string,
  via: string
): IncomingMessage {
  const { pattern: route } = event
  const { data, pattern } = contentOf(body)
  return new IncomingMessage({
    transport,
    kind: 'event',
    pattern: patternOf(pattern, route),
    route,
    data,
    stored: new StoredFields(event, group),
    via
  })
}

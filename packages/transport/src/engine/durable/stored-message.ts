/** From an event of a store to the message for its handlers. */
import { type DeliveredEvent, deliveryOf } from '../../durable/delivery.ts'
import type { Headers } from '../../headers.ts'
import { type Delivery, IncomingMessage } from '../../message.ts'
import type { Words } from '../carrier.ts'
import { contentOf, patternOf } from '../server/incoming.ts'

/** An event that is here. */
export interface StoredEvent extends DeliveredEvent {
  readonly pattern: string
  /** Its caller's headers. */
  readonly headers: Headers | undefined
}

/** Fields of a stored event that most handlers do not read, and that cost more than all others. */
export class StoredFields {
  readonly #event: StoredEvent
  readonly #group: string
  /** The event counts on where it is retried in place. */
  readonly #attempt: number
  readonly #now = Date.now()
  /** `null`: not read yet. */
  #headers: Headers | undefined | null = null
  #delivery: Delivery | undefined

  constructor(event: StoredEvent, group: string) {
    this.#event = event
    this.#group = group
    this.#attempt = event.attempt
  }

  get metadata(): Headers | undefined {
    if (this.#headers === null) this.#headers = this.#event.headers
    return this.#headers
  }

  get delivery(): Delivery {
    if (this.#delivery === undefined) {
      const { id, key, publishedAt, position } = this.#event
      const event = { id, key, publishedAt, position, attempt: this.#attempt }
      this.#delivery = deliveryOf(event, this.#group, this.#now)
    }
    return this.#delivery
  }
}

/**
 * The message of a stored event for the dispatcher.
 * @param via which handlers it is for
 * @throws {SyntaxError} its body is not JSON
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

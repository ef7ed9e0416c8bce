/** An event as a message of RabbitMQ: what is published, what has come, and what is told to its handler. */
import {
  type CarriedHeaders,
  type EventHead,
  newSecret,
  type OutgoingEvent,
  storedMessage
} from '@elysia-microservices/transport/engine'
import type { Headers, HeldEvent, IncomingMessage } from '@elysia-microservices/transport/kit'
import type { ConsumeMessage, MessageProperties, Options } from 'amqplib'
import { readHeaders, writeHeaders } from '../words/headers.ts'
import { routeOfKey } from '../words/names.ts'
import type { Deliveries } from './deliveries.ts'

/** Our headers; callers may not give what begins so. */
export const HEADER = {
  id: 'x-elysia-id',
  key: 'x-elysia-key',
  publishedAt: 'x-elysia-at',
  /** Tells this event from others, which may have its id. */
  unique: 'x-elysia-unique',
  /** Attempts that have failed. */
  failed: 'x-elysia-failed',
  /** When the pause of an event ends, in milliseconds since 1970. */
  due: 'x-elysia-due',
  reason: 'x-elysia-reason',
  attempts: 'x-elysia-attempts',
  pattern: 'x-elysia-pattern'
} as const

/** The properties of every event that is to be kept. */
const KEPT = { persistent: true, mandatory: true, contentType: 'application/json' }

/** A message to the exchange of stored events. */
export interface StoredMessage extends OutgoingEvent {
  readonly payload: Buffer
  readonly options: Options.Publish
}

/** The properties of an event. An id of our own tells it from others; one of the user's may not. */
export function optionsOf(
  { id, isOwnId }: EventHead,
  key: string | undefined,
  given: CarriedHeaders | undefined
): Options.Publish {
  const written = writeHeaders(given)
  const headers: Record<string, string | number> = { ...written.headers, [HEADER.publishedAt]: Date.now() }
  if (key !== undefined) headers[HEADER.key] = key
  const options = { ...KEPT, ...written, headers }
  if (isOwnId) return { ...options, messageId: id }
  headers[HEADER.id] = id
  headers[HEADER.unique] = newSecret()
  return options
}

/** The id by which an event is told from all others, from its properties; empty: none. */
export function uniqueOf({ headers, messageId }: Options.Publish | MessageProperties): string {
  return textIn(given(headers)[HEADER.unique]) ?? textIn(messageId) ?? ''
}

/** An event here. */
export class RabbitEvent implements HeldEvent {
  readonly message: ConsumeMessage
  readonly pattern: string
  readonly id: string
  readonly key: string | undefined
  readonly unique: string
  /** Attempts that have failed when it was published: each pause publishes a copy, which has one more. */
  readonly failed: number
  attempt: number
  /** Where it came last, and its number there; what has come over another channel cannot be acknowledged any more. */
  deliveries: Deliveries
  tag: number
  readonly position = undefined
  readonly #receivedAt = Date.now()

  constructor(message: ConsumeMessage, deliveries: Deliveries, pattern: string | undefined) {
    const { fields, properties } = message
    const headers = given(properties.headers)
    this.message = message
    this.deliveries = deliveries
    this.tag = fields.deliveryTag
    this.pattern = pattern ?? textIn(headers[HEADER.pattern]) ?? routeOfKey(fields.routingKey)
    this.unique = uniqueOf(properties) || newSecret()
    this.id = textIn(headers[HEADER.id]) ?? this.unique
    this.key = textIn(headers[HEADER.key])
    this.failed = countIn(headers[HEADER.failed])
    this.attempt = 1 + this.failed + countIn(headers['x-delivery-count'])
  }

  get due(): number {
    return countIn(given(this.message.properties.headers)[HEADER.due])
  }

  get headers(): Headers | undefined {
    const { headers, priority } = this.message.properties
    return readHeaders(headers, priority)
  }

  get publishedAt(): number {
    const { headers, timestamp } = this.message.properties
    const at = given(headers)[HEADER.publishedAt]
    if (typeof at === 'number') return at
    return typeof timestamp === 'number' ? timestamp * 1_000 : this.#receivedAt
  }

  /** The properties of a copy of it. */
  copyWith(headers: Readonly<Record<string, string | number>>): Options.Publish {
    const { properties } = this.message
    // RabbitMQ's own headers of the message are not copied.
    const { 'x-delivery-count': _count, 'x-death': _death, ...own } = given(properties.headers)
    const said = { [HEADER.id]: this.id, [HEADER.unique]: this.unique, [HEADER.pattern]: this.pattern }
    return {
      ...KEPT,
      ...(typeof properties.priority === 'number' && { priority: properties.priority }),
      headers: { ...own, [HEADER.publishedAt]: this.publishedAt, ...said, ...headers }
    }
  }
}

/**
 * The message for the handlers of an event.
 * @throws {SyntaxError} its body is not JSON
 */
export function messageOf(event: RabbitEvent, group: string, via: string): IncomingMessage {
  return storedMessage('rabbitmq', event, event.message.content, group, via)
}

function given(headers: unknown): Readonly<Record<string, unknown>> {
  return (headers ?? {}) as Readonly<Record<string, unknown>>
}

function textIn(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

function countIn(value: unknown): number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : 0
}

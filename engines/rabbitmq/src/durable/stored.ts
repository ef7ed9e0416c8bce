/**
 * A durable event as a message of RabbitMQ: the message to publish, the message received, and the message for the
 * handler.
 */
import {
  type CarriedHeaders,
  type EventHead,
  newSecret,
  type OutgoingEvent,
  storedMessage
} from '@elysia-microservices/engine'
import type { HeldEvent, IncomingMessage, MessageHeaders } from '@elysia-microservices/transport/kit'
import type { Properties, Received, ReceivedProperties } from '../driver.ts'
import { readHeaders, writeHeaders } from '../words/headers.ts'
import { routeOfKey } from '../words/names.ts'
import type { Deliveries } from './deliveries.ts'

/** The headers of this library; callers may not give headers with the same prefix. */
export const HEADER = {
  id: 'x-elysia-id',
  key: 'x-elysia-key',
  publishedAt: 'x-elysia-at',
  /** Identifies the event, because several events may have the same id. */
  unique: 'x-elysia-unique',
  /** The number of failed attempts. */
  failed: 'x-elysia-failed',
  /** The time of the next attempt, in milliseconds since 1970. */
  due: 'x-elysia-due',
  /** Milliseconds that were left until then when the event was put aside. */
  pause: 'x-elysia-pause',
  reason: 'x-elysia-reason',
  attempts: 'x-elysia-attempts',
  pattern: 'x-elysia-pattern'
} as const

/** The properties of every message that must not be lost. */
const KEPT = { persistent: true, mandatory: true, contentType: 'application/json' }

/** A message to the exchange of durable events. */
export interface StoredMessage extends OutgoingEvent {
  readonly payload: Buffer
  readonly options: Properties
}

/**
 * The properties of an event. An id that this library generated identifies the event; an id of the user may be used
 * for several events.
 */
export function optionsOf(
  { id, isOwnId }: EventHead,
  key: string | undefined,
  given: CarriedHeaders | undefined
): Properties {
  const written = writeHeaders(given)
  const headers: Record<string, string | number> = { ...written.headers, [HEADER.publishedAt]: Date.now() }
  if (key !== undefined) headers[HEADER.key] = key
  const options = { ...KEPT, ...written, headers }
  if (isOwnId) return { ...options, messageId: id }
  headers[HEADER.id] = id
  headers[HEADER.unique] = newSecret()
  return options
}

/** The unique id of an event, from its properties; empty: there is none. */
export function uniqueOf({ headers, messageId }: Properties | ReceivedProperties): string {
  return textIn(given(headers)[HEADER.unique]) ?? textIn(messageId) ?? ''
}

/**
 * An event that was received. Its `attempt` counts the runs that have failed; its consumer adds what it knows of
 * others.
 */
export class RabbitEvent implements HeldEvent {
  readonly message: Received
  readonly pattern: string
  readonly id: string
  readonly key: string | undefined
  readonly unique: string
  /** Attempts that had failed when this message was published: each retry publishes a copy with one more. */
  readonly failed: number
  /** Earlier deliveries of this message, whether or not the event began. */
  readonly deliveredBefore: number
  attempt: number
  /** Whether the runs of the event are counted at the server. */
  isCounted = false
  /** The channel and the tag of the last delivery. A delivery of another channel cannot be acknowledged any more. */
  deliveries: Deliveries
  tag: number
  readonly position = undefined
  readonly #receivedAt = Date.now()

  constructor(message: Received, deliveries: Deliveries, pattern: string | undefined) {
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
    this.deliveredBefore = countIn(headers['x-delivery-count'])
    this.attempt = 1 + this.failed
  }

  get redelivered(): boolean {
    return this.failed + this.deliveredBefore > 0
  }

  /**
   * Milliseconds until the next attempt.
   * @param now milliseconds since 1970; if this clock is behind the clock by which the event was put aside, the event
   * waits no longer than it was to wait then
   */
  waits(now: number): number {
    const headers = given(this.message.properties.headers)
    const left = countIn(headers[HEADER.due]) - now
    return headers[HEADER.pause] === undefined ? left : Math.min(left, countIn(headers[HEADER.pause]))
  }

  get headers(): MessageHeaders | undefined {
    const { headers, priority } = this.message.properties
    return readHeaders(headers, priority)
  }

  own(name: string): string | undefined {
    return textIn(given(this.message.properties.headers)[name])
  }

  get publishedAt(): number {
    const { headers, timestamp } = this.message.properties
    const at = given(headers)[HEADER.publishedAt]
    if (typeof at === 'number') return at
    return typeof timestamp === 'number' ? timestamp * 1_000 : this.#receivedAt
  }

  /** The properties of a copy of the event. */
  copyWith(headers: Readonly<Record<string, string | number>>): Properties {
    const { properties } = this.message
    // The headers that RabbitMQ itself has added are not copied.
    const { 'x-delivery-count': _count, 'x-death': _death, ...own } = given(properties.headers)
    const said = { [HEADER.id]: this.id, [HEADER.unique]: this.unique, [HEADER.pattern]: this.pattern }
    return {
      ...KEPT,
      ...(typeof properties.priority === 'number' && { priority: properties.priority }),
      headers: { ...fitting(own), [HEADER.publishedAt]: this.publishedAt, ...said, ...headers }
    }
  }
}

/** Largest name of a header in bytes, and largest size of the headers of others in a copy. */
const MAX_NAME = 255
const MAX_HEADERS = 48 * 1024

/**
 * The headers that a copy can have beside our own: the driver encodes all headers into 64 KiB. The largest ones are left
 * out.
 */
function fitting(headers: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const sized = Object.entries(headers).map(([name, value]) => ({
    name,
    value,
    size: sizeOf(name) + sizeOf(value)
  }))
  if (sized.reduce((sum, { size }) => sum + size, 0) <= MAX_HEADERS && sized.every(hasShortName))
    return { ...headers }
  let room = MAX_HEADERS
  const kept = sized
    .filter(hasShortName)
    .sort((one, other) => one.size - other.size)
    .filter(({ size }) => {
      room -= size
      return room >= 0
    })
  return Object.fromEntries(kept.map(({ name, value }) => [name, value]))
}

function hasShortName({ name }: { readonly name: string }): boolean {
  return Buffer.byteLength(name) <= MAX_NAME
}

/** About the size of a header's value on the wire, in bytes. */
function sizeOf(value: unknown): number {
  if (value instanceof Uint8Array) return value.length + 8
  return Buffer.byteLength(typeof value === 'string' ? value : (JSON.stringify(value) ?? '')) + 8
}

/**
 * The message for the handlers of an event.
 * @throws {SyntaxError} the body of the event is not JSON
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

/** A message of JetStream as a durable event: for its handler, and as a dead letter. */
import { storedMessage } from '@elysia-microservices/engine'
import {
  type HeldEvent,
  type IncomingMessage,
  type MessageHeaders,
  ProtocolError
} from '@elysia-microservices/transport/kit'
import { headers as newHeaders } from '@nats-io/transport-node'
import type { Message } from '../driver.ts'
import { headersIn, sizeOfHeaders } from '../words/headers.ts'
import { HEAD_ROOM } from './event-store.ts'
import { AGAIN_STREAM, DEAD, decoded, HEADER, idFromHeader, idToHeader } from './names.ts'
import type { StoredMessage } from './outgoing-event.ts'
import { isOwnHeader, ownHeaders, type Place } from './stored.ts'

/** Milliseconds within which a dead letter must be stored; afterwards it is stored later. */
const DEAD_TIMEOUT = 30_000

/**
 * An event that was received. Its headers are read only when they are asked for: reading headers costs more than all
 * other steps.
 */
export class NatsEvent implements HeldEvent {
  readonly message: Message
  readonly place: Place
  /** The body of the message. */
  readonly data: Uint8Array
  readonly subject: string
  attempt: number
  /** How often this event was delivered, from 1. */
  deliveries: number
  /** Whether its handler has begun in this process. */
  hasBegun = false
  /** The number of the last delivery of this event among all deliveries of its consumer. */
  delivery: number
  /** The subject to which the last delivery is acknowledged. */
  reply: string
  /** Until this time no other process gets the event; in milliseconds of `performance.now()`. */
  leasedUntil: number
  /**
   * The connection to a server over which the event was last delivered: another server may not know of the delivery.
   */
  epoch: number
  /** Whether the event's stream was deleted. */
  isOnlyHere = false
  #key: string | undefined | null = null

  /**
   * Creates the event for a message that has just arrived.
   * @param subject the subject of the message, if the handler receives one subject only
   */
  constructor(
    message: Message,
    data: Uint8Array,
    place: Place,
    leasedUntil: number,
    epoch: number,
    subject: string | undefined
  ) {
    this.message = message
    this.data = data
    this.place = place
    this.attempt = place.deliveries
    this.deliveries = place.deliveries
    this.delivery = place.delivery
    this.reply = message.reply ?? ''
    this.leasedUntil = leasedUntil
    this.epoch = epoch
    this.subject = subject ?? this.#before(HEADER.subject) ?? message.subject
  }

  get pattern(): string {
    return this.subject
  }

  /** Whether the event may run out of order, because it was redriven. */
  get isFree(): boolean {
    return this.place.stream === AGAIN_STREAM
  }

  /** Whether deliveries without a run are noted with the group, by the event's number in its stream. */
  get isNoted(): boolean {
    return !this.isFree && !this.isOnlyHere
  }

  /** Stream, number and time: the same for each delivery. */
  get name(): string {
    const { stream, sequence, storedAt } = this.place
    // The time is included, because a stream that was deleted and created again counts from 1 again.
    return `${stream}:${sequence}:${storedAt}`
  }

  /** @throws {ProtocolError} the headers cannot be read */
  get headers(): MessageHeaders | undefined {
    const headers = headersIn(this.message)
    if (headers === null)
      throw new ProtocolError('The headers of the event cannot be read: another program has written them')
    return ownHeaders(headers)
  }

  own(name: string): string | undefined {
    return headersIn(this.message)?.get(name) || undefined
  }

  get id(): string {
    return idFromHeader(this.#before(HEADER.ownId) ?? (headersIn(this.message)?.get(HEADER.id) || this.name))
  }

  get key(): string | undefined {
    if (this.#key === null) {
      const key = headersIn(this.message)?.get(HEADER.key) ?? ''
      this.#key = key === '' ? undefined : decoded(key)
    }
    return this.#key
  }

  /** The position at which the event was first published. */
  get position(): string {
    return this.#before(HEADER.position) ?? String(this.place.sequence)
  }

  /** When the event was first published, in milliseconds since 1970. */
  get publishedAt(): number {
    const before = Number(this.#before(HEADER.publishedAt) ?? Number.NaN)
    return Number.isFinite(before) ? before : this.place.storedAt
  }

  /**
   * A header with which this library keeps the original values of a redriven event. Only trusted in the stream of
   * redriven events, to which no one else writes.
   */
  #before(header: string): string | undefined {
    return (this.place.stream === AGAIN_STREAM && headersIn(this.message)?.get(header)) || undefined
  }
}

/**
 * The message of an event for its handlers.
 * @param via which handlers the message is for
 * @throws {SyntaxError} the body of the event is not JSON
 */
export function messageOf(event: NatsEvent, group: string, via: string): IncomingMessage {
  return storedMessage('nats', event, event.data, group, via)
}

/** Bytes of headers in a dead letter. JetStream accepts 64 KiB, and a redriven event has further headers. */
const MOST_HEADERS = 60 * 1024
/** Bytes of one header of this library: ids and keys from other programs may be longer. */
const MOST_OF_ONE = 8 * 1024
/** Names of left-out parts that a dead letter lists. */
const MOST_LEFT_OUT = 16

/**
 * The dead letter of an event: its body and headers, and why the event failed. Parts that are too large are left out
 * and listed by name, so a dead letter can always be stored.
 * @param maxPayload bytes that the server accepts, including headers
 */
export function deadLetterOf(
  { message, data, subject, id, key, attempt, name, position, publishedAt }: NatsEvent,
  reason: string,
  group: string,
  consumer: string,
  maxPayload: number
): StoredMessage {
  const headers = newHeaders()
  const leftOut: string[] = []
  const sayBounded = (header: string, value: string, what: string, instead: string | undefined) => {
    const fits = value.length <= MOST_OF_ONE
    if (!fits) leftOut.push(what)
    const said = fits ? value : instead
    if (said !== undefined) headers.set(header, said)
  }
  const said = {
    subject,
    position,
    publishedAt: String(publishedAt),
    attempts: String(attempt),
    consumer,
    group,
    reason: encodeURIComponent(reason.replace(/\p{Cs}/gu, '?'))
  }
  for (const [field, value] of Object.entries(said)) headers.set(HEADER[field as keyof typeof said], value)
  sayBounded(HEADER.ownId, idToHeader(id), 'id', name)
  if (key !== undefined) sayBounded(HEADER.key, encodeURIComponent(key), 'key', undefined)
  // The id makes the dead letter unique: if the process ends before the event is acknowledged, the same event fails
  // again, and its second dead letter is a duplicate.
  const letterId = `dead:${name}:${consumer}`
  headers.set(HEADER.id, letterId)

  let room = Math.min(MOST_HEADERS, maxPayload / 2) - sizeOfHeaders(headers)
  // Sorted by size, so that as many headers as possible are kept.
  const given = headersIn(message)
  if (given === null) leftOut.push('headers')
  const own = [...(given ?? [])]
    .filter(([one]) => !isOwnHeader(one))
    .map(([one, values]) => ({ one, values, size: sizeOfValues(one, values) }))
    .sort((a, b) => a.size - b.size)
  for (const { one, values, size } of own) {
    if (size > room) leftOut.push(`headers.${one.slice(0, 100)}`)
    else for (const value of values) headers.append(one, value)
    room -= Math.min(size, Math.max(room, 0))
  }
  const isWhole = data.length + sizeOfHeaders(headers) + HEAD_ROOM <= maxPayload
  if (!isWhole) leftOut.push('data')
  if (leftOut.length > 0)
    headers.set(HEADER.leftOut, encodeURIComponent(JSON.stringify(leftOut.slice(-MOST_LEFT_OUT))))
  const payload = isWhole ? data : EMPTY
  return {
    pattern: subject,
    address: `${DEAD}.${group}.${consumer}`,
    payload,
    size: payload.length,
    headers,
    id: letterId,
    isOwnId: false,
    timeout: DEAD_TIMEOUT,
    signal: undefined
  }
}

const EMPTY = new Uint8Array(0)

function sizeOfValues(name: string, values: readonly string[]): number {
  const one = newHeaders()
  for (const value of values) one.append(name, value)
  return sizeOfHeaders(one)
}

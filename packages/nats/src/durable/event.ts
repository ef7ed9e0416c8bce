/** A message of JetStream as an event here: for its handler, and for the dead letters. */
import { storedMessage } from '@elysia-microservices/transport/engine'
import type { Headers, HeldEvent, IncomingMessage } from '@elysia-microservices/transport/kit'
import { type Msg, headers as newHeaders } from '@nats-io/transport-node'
import { sizeOfHeaders } from '../words/headers.ts'
import { HEAD_ROOM } from './event-store.ts'
import { AGAIN_STREAM, DEAD, decoded, HEADER, idFromHeader, idToHeader } from './names.ts'
import type { StoredMessage } from './outgoing-event.ts'
import { isOwnHeader, ownHeaders, type Place } from './stored.ts'

/** Milliseconds to store a dead letter in; then it is tried again later. */
const DEAD_TIMEOUT = 30_000

/** An event here. What stands in its headers is read when it is asked for: to read headers costs more than all else. */
export class NatsEvent implements HeldEvent {
  readonly message: Msg
  readonly place: Place
  /** Its body. */
  readonly data: Uint8Array
  readonly subject: string
  attempt: number
  /** The number of its last delivery. */
  delivery: number
  /** Where its last delivery is acknowledged. */
  reply: string
  /** Until when nobody else gets it; in milliseconds of `performance.now()`. */
  leasedUntil: number
  /** Over which connection to a server it has come last: another server may have forgotten that it delivered it. */
  epoch: number
  /** Its stream is gone. */
  isOnlyHere = false
  #key: string | undefined | null = null

  /**
   * Of a message that has come just now.
   * @param subject what it was published to, where that can be one only
   */
  constructor(
    message: Msg,
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
    this.delivery = place.delivery
    this.reply = message.reply ?? ''
    this.leasedUntil = leasedUntil
    this.epoch = epoch
    this.subject = subject ?? this.#before(HEADER.subject) ?? message.subject
  }

  get pattern(): string {
    return this.subject
  }

  /** A redriven event waits for no other. */
  get isFree(): boolean {
    return this.place.stream === AGAIN_STREAM
  }

  /** Stream, number and time: the same for each delivery. */
  get name(): string {
    const { stream, sequence, storedAt } = this.place
    // With its time: a stream that is deleted and made again counts from 1 again.
    return `${stream}:${sequence}:${storedAt}`
  }

  get headers(): Headers | undefined {
    return ownHeaders(this.message.headers)
  }

  get id(): string {
    return idFromHeader(this.#before(HEADER.ownId) ?? (this.message.headers?.get(HEADER.id) || this.name))
  }

  get key(): string | undefined {
    if (this.#key === null) {
      const key = this.message.headers?.get(HEADER.key) ?? ''
      this.#key = key === '' ? undefined : decoded(key)
    }
    return this.#key
  }

  /** Where it was published. */
  get position(): string {
    return this.#before(HEADER.position) ?? String(this.place.sequence)
  }

  /** When, in milliseconds since 1970. */
  get publishedAt(): number {
    const before = Number(this.#before(HEADER.publishedAt) ?? Number.NaN)
    return Number.isFinite(before) ? before : this.place.storedAt
  }

  /** A field of an event from before it died, which is believed only in the stream that we write ourselves. */
  #before(header: string): string | undefined {
    return (this.place.stream === AGAIN_STREAM && this.message.headers?.get(header)) || undefined
  }
}

/**
 * The message for the dispatcher.
 * @param via which handlers it is for
 * @throws {SyntaxError} its body is not JSON
 */
export function messageOf(event: NatsEvent, group: string, via: string): IncomingMessage {
  return storedMessage('nats', event, event.data, group, via)
}

/** Bytes of headers that JetStream takes (64 KiB), without what a redriven letter has besides. */
const MOST_HEADERS = 60 * 1024
/** Bytes of one of our headers: ids and keys of strangers may be longer. */
const MOST_OF_ONE = 8 * 1024
/** Names of what is left out that are kept. */
const MOST_LEFT_OUT = 16

/**
 * The dead letter of an event: its body and headers as they were, and why it is one. It always fits: what is too
 * large is left out, and named.
 * @param maxPayload bytes that the server takes, headers included
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
  // The same event of the same group twice, because the process ended in between, is one dead letter.
  const letterId = `dead:${name}:${consumer}`
  headers.set(HEADER.id, letterId)

  let room = Math.min(MOST_HEADERS, maxPayload / 2) - sizeOfHeaders(headers)
  // Small ones first: as many as possible stay.
  const own = [...(message.headers ?? [])]
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

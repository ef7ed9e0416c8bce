/** A message of JetStream as an event here: for its handler, and for the dead letters. */
import { type HeldEvent, IncomingMessage } from '@elysia-microservices/transport/kit'
import { type Msg, headers as newHeaders } from '@nats-io/transport-node'
import { envelopeOf } from '../incoming.ts'
import { jsonOf, textOf } from '../wire.ts'
import { patternOf } from './dead-letters.ts'
import { AGAIN_STREAM, DEAD, HEADER } from './names.ts'
import type { OutgoingEvent } from './outgoing-event.ts'
import { ownHeaders, type Place } from './stored.ts'

/** Milliseconds to store a dead letter in; then it is tried again later. */
const DEAD_TIMEOUT = 30_000

/** An event here. */
export interface NatsEvent extends HeldEvent {
  readonly message: Msg
  readonly place: Place
  readonly subject: string
  /** Stream, number and time: the same for each delivery. */
  readonly name: string
  /** Where and when it was published. */
  readonly position: string
  readonly publishedAt: number
  readonly deliveredAt: number
  /** The number of its last delivery. */
  delivery: number
  /** Where its last delivery is acknowledged. */
  reply: string
  /** Until when nobody else gets it; in milliseconds of `performance.now()`. */
  leasedUntil: number
  /** Over which connection to a server it has come last: another server may have forgotten that it delivered it. */
  epoch: number
}

/** The event of a message that has come just now. */
export function eventOf(message: Msg, place: Place, leasedUntil: number, epoch: number): NatsEvent {
  const { headers, reply = '' } = message
  // What an event was before it died is believed only where we have written it.
  const before = (header: string) => (place.stream === AGAIN_STREAM && headers?.get(header)) || undefined
  const subject = before(HEADER.subject) ?? message.subject
  const key = headers?.get(HEADER.key) ?? ''
  // With its time: a stream that is deleted and made anew counts from 1 again.
  const name = `${place.stream}:${place.sequence}:${place.storedAt}`
  return {
    message,
    place,
    subject,
    name,
    pattern: subject,
    id: before(HEADER.ownId) ?? (headers?.get(HEADER.id) || name),
    position: before(HEADER.position) ?? String(place.sequence),
    publishedAt: Number(before(HEADER.publishedAt) ?? place.storedAt),
    key: key === '' ? undefined : decoded(key),
    attempt: place.deliveries,
    deliveredAt: Date.now(),
    delivery: place.delivery,
    reply,
    leasedUntil,
    epoch
  }
}

/**
 * The message for the dispatcher.
 * @param via which handlers it is for
 * @throws {SyntaxError} its body is not JSON
 */
export function messageOf(event: NatsEvent, group: string, via: string): IncomingMessage {
  const { message, subject, id, key, attempt, position } = event
  const { headers, data } = message
  const body = data.length === 0 ? undefined : jsonOf(textOf(data))
  const packet = envelopeOf(body)
  return new IncomingMessage({
    transport: 'nats',
    kind: 'event',
    pattern: patternOf(packet?.pattern, subject),
    route: subject,
    data: packet === undefined ? body : packet.data,
    metadata: ownHeaders(headers),
    via,
    delivery: {
      id,
      group,
      attempt,
      redelivered: attempt > 1,
      key,
      publishedAt: new Date(event.publishedAt),
      age: Math.max(0, event.deliveredAt - event.publishedAt),
      position
    }
  })
}

/** The dead letter of an event: its body and headers as they were, and what is to be known of it. */
export function deadLetterOf(
  { message, subject, id, key, attempt, name, position, publishedAt }: NatsEvent,
  reason: string,
  group: string,
  consumer: string
): OutgoingEvent {
  const headers = newHeaders()
  for (const one of message.headers?.keys() ?? [])
    if (!one.startsWith('Nats-'))
      for (const value of message.headers?.values(one) ?? []) headers.append(one, value)
  const said = {
    subject,
    ownId: id,
    position,
    publishedAt: String(publishedAt),
    attempts: String(attempt),
    consumer,
    group,
    reason: encodeURIComponent(reason.replace(/\p{Cs}/gu, '?'))
  }
  for (const [field, value] of Object.entries(said)) headers.set(HEADER[field as keyof typeof said], value)
  if (key !== undefined) headers.set(HEADER.key, encodeURIComponent(key))
  // The same event of the same group twice, because the process ended in between, is one dead letter.
  const letterId = `dead:${name}:${consumer}`
  headers.set(HEADER.id, letterId)
  return {
    pattern: subject,
    subject: `${DEAD}.${group}.${consumer}`,
    payload: message.data,
    headers,
    id: letterId,
    isOwnId: false,
    timeout: DEAD_TIMEOUT,
    signal: undefined
  }
}

function decoded(key: string): string {
  try {
    return decodeURIComponent(key)
  } catch {
    return key
  }
}

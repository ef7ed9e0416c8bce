/** A message of JetStream as an event here: for its handler, and for the dead letters. */
import {
  type Delivery,
  type Headers,
  type HeldEvent,
  IncomingMessage
} from '@elysia-microservices/transport/kit'
import { type Msg, headers as newHeaders } from '@nats-io/transport-node'
import { envelopeOf } from '../incoming.ts'
import { jsonOf, textOf } from '../wire.ts'
import { patternOf } from './dead-letters.ts'
import { AGAIN_STREAM, DEAD, HEADER } from './names.ts'
import type { OutgoingEvent } from './outgoing-event.ts'
import { ownHeaders, type Place } from './stored.ts'

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

  /** What is sent again from the dead letters waits for nobody. */
  get isFree(): boolean {
    return this.place.stream === AGAIN_STREAM
  }

  /** Stream, number and time: the same for each delivery. */
  get name(): string {
    const { stream, sequence, storedAt } = this.place
    // With its time: a stream that is deleted and made anew counts from 1 again.
    return `${stream}:${sequence}:${storedAt}`
  }

  get id(): string {
    return this.#before(HEADER.ownId) ?? (this.message.headers?.get(HEADER.id) || this.name)
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
    return Number(this.#before(HEADER.publishedAt) ?? this.place.storedAt)
  }

  /** What an event was before it died, which is believed only where we have written it. */
  #before(header: string): string | undefined {
    return (this.place.stream === AGAIN_STREAM && this.message.headers?.get(header)) || undefined
  }
}

/** What a handler may read of one run of an event, and seldom does. */
class Stored {
  readonly #event: NatsEvent
  readonly #group: string
  readonly #attempt: number
  #metadata: Headers | undefined | null = null
  #delivery: Delivery | undefined

  constructor(event: NatsEvent, group: string) {
    this.#event = event
    this.#group = group
    this.#attempt = event.attempt
  }

  get metadata(): Headers | undefined {
    if (this.#metadata === null) this.#metadata = ownHeaders(this.#event.message.headers)
    return this.#metadata
  }

  get delivery(): Delivery {
    this.#delivery ??= this.#read()
    return this.#delivery
  }

  #read(): Delivery {
    const { id, key, position, publishedAt } = this.#event
    return {
      id,
      group: this.#group,
      attempt: this.#attempt,
      redelivered: this.#attempt > 1,
      key,
      publishedAt: new Date(publishedAt),
      age: Math.max(0, Date.now() - publishedAt),
      position
    }
  }
}

/**
 * The message for the dispatcher.
 * @param via which handlers it is for
 * @throws {SyntaxError} its body is not JSON
 */
export function messageOf(event: NatsEvent, group: string, via: string): IncomingMessage {
  const { data, subject } = event
  const body = data.length === 0 ? undefined : jsonOf(textOf(data))
  const packet = envelopeOf(body)
  return new IncomingMessage({
    transport: 'nats',
    kind: 'event',
    pattern: patternOf(packet?.pattern, subject),
    route: subject,
    data: packet === undefined ? body : packet.data,
    stored: new Stored(event, group),
    via
  })
}

/** The dead letter of an event: its body and headers as they were, and what is to be known of it. */
export function deadLetterOf(
  { message, data, subject, id, key, attempt, name, position, publishedAt }: NatsEvent,
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
    payload: data,
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

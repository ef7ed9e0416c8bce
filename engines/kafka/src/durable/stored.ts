/**
 * A durable event as a record of Kafka: the record to publish, the record received, the message for the handler, and
 * the copies of a failed event.
 */
import { jsonOf, type OutgoingEvent, StoredFields } from '@elysia-microservices/engine'
import {
  callerName,
  type DeadLetter,
  dateOf,
  type HeldEvent,
  IncomingMessage,
  type MessageHeaders
} from '@elysia-microservices/transport/kit'
import { HEADER } from '../words/headers.ts'
import { type Fetched, type WrittenHeaders, writeHeaders } from '../words/record.ts'
import { readValue } from '../words/values.ts'
import type { Source } from './partition.ts'

/** The position of an event, and the time at which it was published. */
export interface Position {
  readonly partition: number
  readonly offset: number
  /** Milliseconds since 1970. */
  readonly timestamp: number
}

export function positionOf({ partition, offset, timestamp }: Position): string {
  return `${partition}-${offset}-${timestamp}`
}

/** Reads a position from text; `undefined`: the text is not a position. */
export function readPosition(text: string | undefined): Position | undefined {
  const [, partition, offset, timestamp] = /^(\d{1,5})-(\d{1,15})-(\d{1,15})$/.exec(text ?? '') ?? []
  if (partition === undefined) return undefined
  return { partition: Number(partition), offset: Number(offset), timestamp: Number(timestamp) }
}

/** An event to be stored. */
export interface StoredRecord extends OutgoingEvent {
  /** Events with the same key go to the same partition. */
  readonly key: string | undefined
  /** The record, as `writeRecord` returns it. */
  readonly bytes: Buffer
  /**
   * The batch that the event was sent with: if nobody knows whether Kafka has stored the batch, the same batch is
   * sent again.
   */
  batch?: unknown
}

/** The attributes of a CloudEvent that all events of a topic have, as headers of Kafka (CloudEvents' binding for Kafka). */
export function cloudEvent(topic: string): WrittenHeaders {
  return writeHeaders({
    [HEADER.specification]: '1.0',
    [HEADER.source]: callerName(undefined) ?? 'elysia-microservices',
    [HEADER.eventType]: topic
  })
}

/** An event that was received and is not done. */
export class KafkaEvent implements HeldEvent {
  readonly source: Source
  readonly fetched: Fetched
  readonly offset: number
  attempt: number
  #key: string | undefined
  constructor(source: Source, fetched: Fetched) {
    this.source = source
    this.fetched = fetched
    this.offset = fetched.offset
    this.attempt = this.isFree ? 1 + countIn(fetched.header(HEADER.attempts)) : 1
  }

  /**
   * Milliseconds until the event may run, if it is retried or redriven.
   * @param now milliseconds since 1970; if this clock is behind the clock by which the event was put aside, the event
   * waits no longer than its whole pause
   */
  waits(now: number): number {
    const pause = this.fetched.header(HEADER.pause)
    const left = countIn(this.fetched.header(HEADER.due)) - now
    return pause === undefined ? left : Math.min(left, countIn(pause))
  }

  /** Whether the event is retried or redriven: such an event may run out of order. */
  get isFree(): boolean {
    return this.source.topic !== this.source.pattern
  }

  get pattern(): string {
    return this.source.pattern
  }

  get id(): string {
    return this.fetched.header(HEADER.id) || this.position
  }

  get key(): string | undefined {
    this.#key ??= this.fetched.keyText
    return this.#key
  }

  /** The position at which the event was first published. */
  get place(): Position {
    const { offset, source, fetched } = this
    const first = this.isFree ? readPosition(fetched.header(HEADER.position)) : undefined
    return first ?? { partition: source.partition, offset, timestamp: fetched.timestamp }
  }

  get position(): string {
    return positionOf(this.place)
  }

  /** When it was published, in milliseconds since 1970. */
  get publishedAt(): number {
    return dateOf(this.place.timestamp).getTime()
  }

  /** The headers of the caller. */
  get headers(): MessageHeaders | undefined {
    return this.fetched.callers
  }

  own(name: string): string | undefined {
    return name === HEADER.groups ? this.fetched.header(name) : undefined
  }
}

/**
 * The message for the handlers of an event.
 * @param via which handlers the message is for: `group` or `event`
 * @throws {SyntaxError} the value cannot be read as its type
 */
export function messageOf(event: KafkaEvent, group: string, via: string): IncomingMessage {
  const { pattern, fetched } = event
  return new IncomingMessage({
    transport: 'kafka',
    kind: 'event',
    pattern,
    route: pattern,
    data: dataOf(fetched),
    stored: new StoredFields(event, group),
    via
  })
}

function dataOf(fetched: Fetched): unknown {
  const json = readValue(fetched.text, fetched.header(HEADER.type))
  return json === undefined ? undefined : jsonOf(json)
}

/** The headers of a copy of an event, for a retry or a dead letter. */
export function headersOfCopy(
  event: KafkaEvent,
  more: Readonly<Record<string, string>>
): Readonly<Record<string, string>> {
  return { ...event.fetched.headers, [HEADER.id]: event.id, [HEADER.position]: event.position, ...more }
}

/** A dead letter as users see it. @param topic the topic of its pattern */
export function deadLetterOf(topic: string, position: string, group: string, fetched: Fetched): DeadLetter {
  const { headers } = fetched
  let data: unknown
  try {
    data = dataOf(fetched)
  } catch {
    data = fetched.text
  }
  const isWhole = headers[HEADER.leftOut] === undefined
  return {
    position,
    group,
    pattern: topic,
    id: headers[HEADER.id] ?? '',
    key: headers[HEADER.key],
    reason: headers[HEADER.reason] ?? '',
    attempts: countIn(headers[HEADER.attempts]),
    headers: fetched.callers ?? {},
    data,
    publishedAt: dateOf(readPosition(headers[HEADER.position])?.timestamp ?? 0),
    diedAt: dateOf(fetched.timestamp),
    ...(!isWhole && { leftOut: ['data'] })
  }
}

function countIn(text: string | undefined): number {
  const count = Number(text)
  return text !== undefined && Number.isSafeInteger(count) && count > 0 ? count : 0
}

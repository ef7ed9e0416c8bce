/** An event as a record: what is published, what has come, what its handler is told, and what is kept of it. */
import { type EventHead, jsonOf, type OutgoingEvent } from '@elysia-microservices/transport/engine'
import {
  ageOf,
  callerName,
  type DeadLetter,
  type Delivery,
  type HeldEvent,
  IncomingMessage
} from '@elysia-microservices/transport/kit'
import type { Fetched } from '../connection/reader.ts'
import { callersOf, HEADER, type ReadHeaders, type RecordHeaders, readHeaders } from '../words/headers.ts'
import { readValue } from '../words/values.ts'
import type { Tracker } from './tracker.ts'

/** Where an event was published, and when. */
export interface Position {
  readonly partition: number
  readonly offset: number
  /** Milliseconds since 1970. */
  readonly timestamp: number
}

export function positionOf({ partition, offset, timestamp }: Position): string {
  return `${partition}-${offset}-${timestamp}`
}

/** Reads a position; `undefined`: it is none. */
export function readPosition(text: string | undefined): Position | undefined {
  const [, partition, offset, timestamp] = /^(\d{1,5})-(\d{1,15})-(\d{1,15})$/.exec(text ?? '') ?? []
  if (partition === undefined) return undefined
  return { partition: Number(partition), offset: Number(offset), timestamp: Number(timestamp) }
}

/** An event that is to be stored. */
export interface StoredRecord extends OutgoingEvent {
  readonly key: Buffer | undefined
  readonly value: Buffer | undefined
  readonly headers: RecordHeaders
  /** What it was sent with: if it is not known what became of that, it is sent again as it was. */
  batch?: unknown
}

/** The attributes of CloudEvents, as its binding for Kafka has them. */
export function cloudEvent(
  { id }: EventHead,
  topic: string,
  key: string | undefined
): Record<string, string | undefined> {
  return {
    [HEADER.specification]: '1.0',
    [HEADER.id]: id,
    [HEADER.source]: callerName(undefined) ?? 'elysia-microservices',
    [HEADER.eventType]: topic,
    [HEADER.key]: key
  }
}

/** Where an event is here: the partition that it came from, as long as that is ours. */
export interface Source {
  readonly topic: string
  readonly partition: number
  readonly tracker: Tracker
  /** The topic of its pattern: another one, if it is on its way again. */
  readonly pattern: string
}

/** An event that is here. */
export class KafkaEvent implements HeldEvent {
  readonly source: Source
  readonly fetched: Fetched
  readonly offset: number
  attempt: number
  /** When it is to run; 0: at once. Milliseconds since 1970. */
  readonly due: number
  /** What stood beside it, once somebody asks. */
  #headers: ReadHeaders | undefined

  constructor(source: Source, fetched: Fetched) {
    this.source = source
    this.fetched = fetched
    this.offset = Number(fetched.offset)
    this.attempt = this.isFree ? 1 + countIn(this.headers[HEADER.attempts]) : 1
    this.due = this.isFree ? countIn(this.headers[HEADER.due]) : 0
  }

  /** What is on its way again is in no order. */
  get isFree(): boolean {
    return this.source.topic !== this.source.pattern
  }

  get pattern(): string {
    return this.source.pattern
  }

  get headers(): ReadHeaders {
    this.#headers ??= readHeaders(this.fetched.record.headers)
    return this.#headers
  }

  get id(): string {
    return this.headers[HEADER.id] || this.position
  }

  get key(): string | undefined {
    return this.fetched.record.key?.toString() ?? undefined
  }

  /** Where it was published. */
  get place(): Position {
    const { offset, source, fetched } = this
    const first = this.isFree ? readPosition(this.headers[HEADER.position]) : undefined
    return first ?? { partition: source.partition, offset, timestamp: fetched.timestamp }
  }

  get position(): string {
    return positionOf(this.place)
  }
}

/**
 * The message for the handlers of an event.
 * @param via which handlers it is for
 * @throws {SyntaxError} its value is not what it says
 */
export function messageOf(event: KafkaEvent, group: string, via: string): IncomingMessage {
  const { pattern, id, key, attempt, headers, place } = event
  const publishedAt = dateOf(place.timestamp)
  const delivery: Delivery = {
    id,
    group,
    attempt,
    redelivered: attempt > 1,
    key,
    publishedAt,
    age: ageOf(publishedAt.getTime(), Date.now()),
    position: positionOf(place)
  }
  return new IncomingMessage({
    transport: 'kafka',
    kind: 'event',
    pattern,
    route: pattern,
    data: dataOf(event.fetched, headers),
    metadata: callersOf(headers),
    delivery,
    via
  })
}

function dataOf({ record }: Fetched, headers: ReadHeaders): unknown {
  const json = readValue(record.value?.toString(), headers[HEADER.type])
  return json === undefined ? undefined : jsonOf(json)
}

/** The headers of a copy of an event. */
export function headersOfCopy(event: KafkaEvent, more: Readonly<Record<string, string>>): RecordHeaders {
  const all = { ...event.headers, [HEADER.id]: event.id, [HEADER.position]: event.position, ...more }
  return new Map(Object.entries(all).map(([name, value]) => [Buffer.from(name), Buffer.from(value)]))
}

/** A dead letter, as users see it. @param topic of its pattern */
export function deadLetterOf(topic: string, position: string, group: string, fetched: Fetched): DeadLetter {
  const headers = readHeaders(fetched.record.headers)
  let data: unknown
  try {
    data = dataOf(fetched, headers)
  } catch {
    data = fetched.record.value?.toString()
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
    headers: callersOf(headers) ?? {},
    data,
    publishedAt: dateOf(readPosition(headers[HEADER.position])?.timestamp ?? 0),
    diedAt: dateOf(fetched.timestamp),
    ...(!isWhole && { leftOut: ['data'] })
  }
}

function dateOf(timestamp: number): Date {
  return new Date(timestamp >= 0 && timestamp <= LATEST ? timestamp : 0)
}

/** The latest time that a `Date` can be. */
const LATEST = 8.64e15

function countIn(text: string | undefined): number {
  const count = Number(text)
  return text !== undefined && Number.isSafeInteger(count) && count > 0 ? count : 0
}

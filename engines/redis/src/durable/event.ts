/** An event as an entry of a stream: writes it, reads it for its handler, and writes it as a dead letter. */
import {
  type CarriedHeaders,
  jsonOf,
  type OutgoingEvent,
  patternOf,
  readableContentOf,
  storedMessage
} from '@elysia-microservices/engine'
import {
  type DeadLetter,
  dateOf,
  type HeldEvent,
  type IncomingMessage,
  type MessageHeaders
} from '@elysia-microservices/transport/kit'
import { headersIn } from '../words/frames.ts'
import { timeOf } from '../words/keys.ts'

/** The fields of an entry. */
const FIELD = {
  /** The packet as JSON, as NestJS clients write it. */
  packet: 'packet',
  id: 'id',
  key: 'key',
  /** The headers, as JSON. */
  headers: 'headers',
  /** Of dead letters and redriven events: the original pattern and position, the handler, and why the event failed. */
  pattern: 'pattern',
  position: 'position',
  handler: 'handler',
  reason: 'reason',
  attempts: 'attempts'
} as const

type Fields = Partial<Record<keyof typeof FIELD, string>>

/** An event to be stored. */
export interface OutgoingEntry extends OutgoingEvent {
  readonly packet: string
  readonly key: string | undefined
  readonly headers: CarriedHeaders | undefined
  /**
   * The batch that the event was sent with: if it is unknown whether the server has stored the batch, the same batch
   * is sent again.
   */
  batch: unknown
}

/** The fields of an entry by their names. */
export function fieldsIn(entry: readonly string[]): Fields {
  const fields: Record<string, string> = {}
  for (let at = 0; at + 1 < entry.length; at += 2) fields[entry[at] as string] = entry[at + 1] as string
  return fields
}

/** The stream from which an event came. */
export interface Source {
  readonly stream: string
  /** The pattern of the stream's events; a redriven event has its own pattern in a field. */
  readonly pattern: string
  /** Whether the stream has redriven events. */
  readonly isAgain: boolean
}

/** An event that was received. */
export class RedisEvent implements HeldEvent {
  readonly source: Source
  /** The position of the event in its stream. */
  readonly place: string
  readonly fields: Fields
  attempt: number
  /** Number of runs that have begun: that of this attempt has not, unless the event runs, or pauses after it. */
  begun: number
  /** Until this time no other process gets the event; in milliseconds of `performance.now()`. */
  leasedUntil: number
  /** Whether the event's stream or group was deleted. */
  isOnlyHere = false

  constructor(source: Source, place: string, entry: readonly string[], attempt: number, leasedUntil: number) {
    this.source = source
    this.place = place
    this.fields = fieldsIn(entry)
    this.attempt = attempt
    this.begun = attempt - 1
    this.leasedUntil = leasedUntil
  }

  /**
   * The pattern under which the event was published. A pattern in a field is only trusted in the stream of redriven
   * events, to which only this library writes.
   */
  get pattern(): string {
    return (this.isFree ? this.fields.pattern : undefined) ?? this.source.pattern
  }

  get id(): string {
    return this.fields.id ?? this.place
  }

  get key(): string | undefined {
    return this.fields.key
  }

  get headers(): MessageHeaders | undefined {
    return headersOf(this.fields)
  }

  own(name: string): string | undefined {
    // Few events have one, and JSON need not be parsed to see that.
    return this.fields.headers?.includes(name) ? headersOf(this.fields)?.[name] : undefined
  }

  /** Whether the event may run out of order, because it was redriven. */
  get isFree(): boolean {
    return this.source.isAgain
  }

  /** The position at which the event was first published. */
  get position(): string {
    return (this.isFree ? this.fields.position : undefined) ?? this.place
  }

  /** When the event was published, in milliseconds since 1970. */
  get publishedAt(): number {
    return timeOf(this.position)
  }

  /** Characters that the event takes in memory. */
  get size(): number {
    return this.fields.packet?.length ?? 0
  }
}

/**
 * The message of an event for its handlers.
 * @param via which handlers the message is for
 * @throws {SyntaxError} the body of the event is not JSON
 */
export function messageOf(event: RedisEvent, group: string, via: string): IncomingMessage {
  return storedMessage('redis', event, event.fields.packet ?? '', group, via)
}

function headersOf({ headers }: Fields): MessageHeaders | undefined {
  try {
    return headers === undefined ? undefined : headersIn(jsonOf(headers))
  } catch {
    // The packet is not JSON, as a stranger may have written it.
    return undefined
  }
}

/** The fields of a dead letter. @param handler the pattern of the handler */
export function deadLetterOf(event: RedisEvent, reason: string, handler: string): string[] {
  const { fields, pattern, position, attempt, id } = event
  const said = { ...fields, id, pattern, position, handler, reason, attempts: String(attempt) }
  return Object.keys(FIELD).flatMap((name) => {
    const value = said[name as keyof typeof FIELD]
    return value === undefined ? [] : [name, value]
  })
}

/** A dead letter as users see it. `handler` is the pattern of the handler to which it is redriven. */
export function readDeadLetter(
  position: string,
  group: string,
  entry: readonly string[]
): { readonly letter: DeadLetter; readonly handler: string } {
  const fields = fieldsIn(entry)
  const pattern = fields.pattern ?? ''
  const content = readableContentOf(fields.packet ?? '')
  const letter: DeadLetter = {
    position,
    group,
    pattern: patternOf(content.pattern, pattern),
    id: fields.id ?? '',
    key: fields.key,
    reason: fields.reason ?? '',
    attempts: Number(fields.attempts),
    headers: headersOf(fields) ?? {},
    data: content.data,
    publishedAt: dateOf(timeOf(fields.position ?? '')),
    diedAt: dateOf(timeOf(position))
  }
  return { letter, handler: fields.handler ?? pattern }
}

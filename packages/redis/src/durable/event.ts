/** An event as an entry of a stream: as it is written, as its handler gets it, and as a dead letter. */
import {
  type CarriedHeaders,
  jsonOf,
  type OutgoingEvent,
  patternOf,
  readableContentOf,
  storedMessage
} from '@elysia-microservices/transport/engine'
import {
  type DeadLetter,
  dateOf,
  type Headers,
  type HeldEvent,
  type IncomingMessage
} from '@elysia-microservices/transport/kit'
import { headersIn } from '../words/frames.ts'
import { timeOf } from './keys.ts'

/** The fields of an entry. */
const FIELD = {
  /** The packet, as JSON; as Nest's clients write it. */
  packet: 'packet',
  id: 'id',
  key: 'key',
  /** Headers, as JSON. */
  headers: 'headers',
  /** Of dead letters and of what goes back from them: where and as what it was published, and what became of it. */
  pattern: 'pattern',
  position: 'position',
  handler: 'handler',
  reason: 'reason',
  attempts: 'attempts'
} as const

type Fields = Partial<Record<keyof typeof FIELD, string>>

/** An event that is to be stored. */
export interface OutgoingEntry extends OutgoingEvent {
  readonly packet: string
  readonly key: string | undefined
  readonly headers: CarriedHeaders | undefined
  /** The batch that it was sent with: if its fate is unknown, the same batch is sent again. */
  batch: unknown
}

function read(entry: readonly string[]): Fields {
  const fields: Record<string, string> = {}
  for (let at = 0; at + 1 < entry.length; at += 2) fields[entry[at] as string] = entry[at + 1] as string
  return fields
}

/** Where an event came from. */
export interface Source {
  readonly stream: string
  /** The pattern that it stores; of what comes back from dead letters, the event's own tells. */
  readonly pattern: string
  /** It is what goes back from dead letters. */
  readonly isAgain: boolean
}

/** An event that is here. */
export class RedisEvent implements HeldEvent {
  readonly source: Source
  /** Where it is in its stream. */
  readonly place: string
  readonly fields: Fields
  attempt: number
  /** Until when nobody else gets it; in milliseconds of `performance.now()`. */
  leasedUntil: number
  /** Its stream or its group is gone. */
  isOnlyHere = false

  constructor(source: Source, place: string, entry: readonly string[], attempt: number, leasedUntil: number) {
    this.source = source
    this.place = place
    this.fields = read(entry)
    this.attempt = attempt
    this.leasedUntil = leasedUntil
  }

  /**
   * The pattern that it was published to. Another one than the stream's is believed only in streams that we write
   * ourselves.
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

  get headers(): Headers | undefined {
    return headersOf(this.fields)
  }

  /** A redriven event waits for no other. */
  get isFree(): boolean {
    return this.source.isAgain
  }

  /** Where it was published. */
  get position(): string {
    return (this.isFree ? this.fields.position : undefined) ?? this.place
  }

  /** When, in milliseconds since 1970. */
  get publishedAt(): number {
    return timeOf(this.position)
  }

  /** Characters that it takes here. */
  get size(): number {
    return this.fields.packet?.length ?? 0
  }
}

/**
 * The message for the dispatcher.
 * @param via which handlers it is for
 * @throws {SyntaxError} its body is not JSON
 */
export function messageOf(event: RedisEvent, group: string, via: string): IncomingMessage {
  return storedMessage('redis', event, event.fields.packet ?? '', group, via)
}

function headersOf({ headers }: Fields): Headers | undefined {
  try {
    return headers === undefined ? undefined : headersIn(jsonOf(headers))
  } catch {
    // A stranger's.
    return undefined
  }
}

/** The dead letter of an event. @param handler the pattern of its handler */
export function deadLetterOf(event: RedisEvent, reason: string, handler: string): string[] {
  const { fields, pattern, position, attempt, id } = event
  const said = { ...fields, id, pattern, position, handler, reason, attempts: String(attempt) }
  return Object.keys(FIELD).flatMap((name) => {
    const value = said[name as keyof typeof FIELD]
    return value === undefined ? [] : [name, value]
  })
}

/** A dead letter, as users see it; `handler`: to which handler it goes back. */
export function readDeadLetter(
  position: string,
  group: string,
  entry: readonly string[]
): { readonly letter: DeadLetter; readonly handler: string } {
  const fields = read(entry)
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

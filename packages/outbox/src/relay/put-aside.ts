/** Events that are put aside, because publishing them unchanged can never succeed. */
import { atLeast, checkNames, type MessageHeaders, OptionError } from '@elysia-microservices/transport/kit'
import type { Database, Row } from '../database/database.ts'
import { inSchema } from '../schema.ts'
import { DISCARD, PUT_ASIDE, REDRIVE } from './statements.ts'

/** An event that is put aside. */
export interface FailedEvent {
  /** The event's position in the outbox, which identifies it for `redrive` and `discard`. */
  readonly position: string
  readonly id: string
  readonly pattern: string
  readonly key: string | undefined
  readonly headers: MessageHeaders
  readonly data: unknown
  /** The reason why the event could not be published, in words. */
  readonly reason: string
  /** The number of attempts to publish the event. */
  readonly attempts: number
  readonly failedAt: Date
}

/** Options of `list()`. */
export interface FailedOptions {
  /** The position of the last event of the previous page. Default: begins with the first event. */
  readonly after?: string | undefined
  /** Largest number of events to return. Default: 100. */
  readonly limit?: number | undefined
}

/** Lists events that are put aside, redrives or discards them. */
export interface PutAside {
  /** Returns events in the order of their positions. @throws {OptionError} an option is invalid */
  list(options?: FailedOptions): Promise<readonly FailedEvent[]>
  /**
   * Publishes events again. They come after later events of their keys that were published in the meantime.
   * @returns how many of the positions were put aside
   */
  redrive(positions: readonly string[]): Promise<number>
  /** Deletes events. @returns how many of the positions were put aside */
  discard(positions: readonly string[]): Promise<number>
}

export class PutAsideEvents implements PutAside {
  readonly #database: Database
  readonly #schema: string
  readonly #wake: () => void

  /** @param wake called when there are events to publish */
  constructor(database: Database, schema: string, wake: () => void) {
    this.#database = database
    this.#schema = schema
    this.#wake = wake
  }

  async list(options: FailedOptions = {}): Promise<readonly FailedEvent[]> {
    checkNames('options', options, ['after', 'limit'])
    const { after = '0', limit = 100 } = options
    checkPosition('options.after', after)
    atLeast(1, 'options.limit', limit)
    const statement = inSchema(PUT_ASIDE, this.#schema)
    const rows = await this.#database.query(statement, [after, String(Math.floor(limit))])
    return rows.map(eventOf)
  }

  async redrive(positions: readonly string[]): Promise<number> {
    const changed = await this.#change(REDRIVE, positions)
    this.#wake()
    return changed
  }

  discard(positions: readonly string[]): Promise<number> {
    return this.#change(DISCARD, positions)
  }

  async #change(statement: string, positions: readonly string[]): Promise<number> {
    for (const [index, position] of positions.entries()) checkPosition(`positions[${index}]`, position)
    const rows = await this.#database.query(inSchema(statement, this.#schema), [`{${positions.join()}}`])
    return rows.length
  }
}

function checkPosition(path: string, value: unknown): void {
  if (typeof value !== 'string' || !/^\d{1,18}$/.test(value))
    throw OptionError.expected(path, 'a position from list()', value)
}

function eventOf(row: Row): FailedEvent {
  const text = row as Readonly<Record<string, string | null>>
  return {
    position: text['position']!,
    id: text['id']!,
    pattern: text['pattern']!,
    key: text['key'] ?? undefined,
    headers: text['headers'] == null ? {} : (JSON.parse(text['headers']) as MessageHeaders),
    data: text['data'] == null ? undefined : JSON.parse(text['data']),
    reason: text['reason']!,
    attempts: Number(text['attempts']),
    failedAt: new Date(Number(text['failed_at']))
  }
}

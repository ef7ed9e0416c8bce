/** Events that are put aside, because they can never be published as they are. */
import { atLeast, checkNames, type Headers, OptionError } from '@elysia-microservices/transport/kit'
import type { Database, Row } from '../database/database.ts'
import { inSchema } from '../schema.ts'
import { DISCARD, PUT_ASIDE, SEND_AGAIN } from './statements.ts'

/** An event that is put aside. */
export interface FailedEvent {
  /** Its place in the outbox: what `sendAgain` and `discard` are given. */
  readonly position: string
  readonly id: string
  readonly pattern: string
  readonly key: string | undefined
  readonly headers: Headers
  readonly data: unknown
  /** Why it could not be published, in words. */
  readonly reason: string
  /** How often it was tried. */
  readonly attempts: number
  readonly failedAt: Date
}

/** Options of the list. */
export interface FailedOptions {
  /** The position of the last one that is known. Default: from the first. */
  readonly after?: string | undefined
  /** Most of them. Default: 100. */
  readonly limit?: number | undefined
}

/** Looks at what is put aside, sends it again, or discards it. */
export interface PutAside {
  /** In order of their positions. @throws {OptionError} an option is invalid */
  list(options?: FailedOptions): Promise<readonly FailedEvent[]>
  /**
   * Publishes them once more, behind what was published of their keys meanwhile.
   * @returns how many of the positions were put aside
   */
  sendAgain(positions: readonly string[]): Promise<number>
  /** Deletes them. @returns how many of the positions were put aside */
  discard(positions: readonly string[]): Promise<number>
}

export class PutAsideEvents implements PutAside {
  readonly #database: Database
  readonly #schema: string
  readonly #wake: () => void

  /** @param wake is called when there is something to publish */
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

  async sendAgain(positions: readonly string[]): Promise<number> {
    const changed = await this.#change(SEND_AGAIN, positions)
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
    throw OptionError.expected(path, 'a position, as list() gives it', value)
}

function eventOf(row: Row): FailedEvent {
  const text = row as Readonly<Record<string, string | null>>
  return {
    position: text['position']!,
    id: text['id']!,
    pattern: text['pattern']!,
    key: text['key'] ?? undefined,
    headers: text['headers'] == null ? {} : (JSON.parse(text['headers']) as Headers),
    data: text['data'] == null ? undefined : JSON.parse(text['data']),
    reason: text['reason']!,
    attempts: Number(text['attempts']),
    failedAt: new Date(Number(text['failed_at']))
  }
}

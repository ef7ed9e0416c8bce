/** The dead letters of one group in the database. */
import { deadLetterOf, inPages } from '@elysia-microservices/engine'
import type { DeadLetter, DeadLetters, ListDeadLettersOptions } from '@elysia-microservices/transport/kit'
import type { Tables } from '../connection/tables.ts'

/** Reads and changes dead letters; nothing is kept in memory. */
export class PostgresDeadLetters implements DeadLetters {
  readonly #group: string
  readonly #tables: () => Promise<Tables>

  constructor(group: string, tables: () => Promise<Tables>) {
    this.#group = group
    this.#tables = tables
  }

  list({ limit }: ListDeadLettersOptions = {}): AsyncGenerator<DeadLetter> {
    const read = (behind: DeadLetter | undefined, most: number) =>
      this.#page(BigInt(behind?.position ?? 0) + 1n, most)
    return inPages(limit, read, true)
  }

  async get(position: string): Promise<DeadLetter | undefined> {
    if (!isPlace(position)) return undefined
    const [letter] = await this.#page(BigInt(position), 1)
    return letter?.position === position ? letter : undefined
  }

  async redrive(position: string): Promise<boolean> {
    return isPlace(position) && (await this.#tables()).redrive(this.#group, position)
  }

  async discard(position: string): Promise<boolean> {
    return isPlace(position) && (await this.#tables()).discard(this.#group, position)
  }

  /** Dead letters from a place on: fewer, if they are large. */
  async #page(from: bigint, most: number): Promise<DeadLetter[]> {
    const rows = await (await this.#tables()).letters(this.#group, String(from), most)
    return rows.map((row) => deadLetterOf(this.#group, row))
  }
}

function isPlace(position: string): boolean {
  return /^[1-9]\d{0,17}$/.test(position)
}

/** The dead letters of one group in the database. */
import { deadLetterOf, inPages, isCutPage } from '@elysia-microservices/engine'
import type { Row } from '@elysia-microservices/outbox/database'
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

  async *list({ limit }: ListDeadLettersOptions = {}): AsyncGenerator<DeadLetter> {
    const read = (behind: Row | undefined, most: number) =>
      this.#page(BigInt(String(behind?.['place'] ?? 0)) + 1n, most)
    for await (const row of inPages(limit, read, isCutPage)) yield deadLetterOf(this.#group, row)
  }

  async get(position: string): Promise<DeadLetter | undefined> {
    if (!isPlace(position)) return undefined
    const [row] = await this.#page(BigInt(position), 1)
    return row?.['place'] === position ? deadLetterOf(this.#group, row) : undefined
  }

  async redrive(position: string): Promise<boolean> {
    return isPlace(position) && (await this.#tables()).redrive(this.#group, position)
  }

  async discard(position: string): Promise<boolean> {
    return isPlace(position) && (await this.#tables()).discard(this.#group, position)
  }

  /** Dead letters from a place on: fewer, if they are large. */
  async #page(from: bigint, most: number): Promise<readonly Row[]> {
    return (await this.#tables()).letters(this.#group, String(from), most)
  }
}

function isPlace(position: string): boolean {
  return /^[1-9]\d{0,17}$/.test(position)
}

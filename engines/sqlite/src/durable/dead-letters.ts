/** The dead letters of one group in the file. */
import { inPages } from '@elysia-microservices/engine'
import type { DeadLetter, DeadLetters, ListDeadLettersOptions } from '@elysia-microservices/transport/kit'
import type { EventFile } from '../connection/event-file.ts'

/** Reads and changes dead letters; nothing is kept in memory. */
export class SqliteDeadLetters implements DeadLetters {
  readonly #group: string
  readonly #file: () => Promise<EventFile>

  constructor(group: string, file: () => Promise<EventFile>) {
    this.#group = group
    this.#file = file
  }

  list({ limit }: ListDeadLettersOptions = {}): AsyncGenerator<DeadLetter> {
    return inPages(limit, (behind, most) => this.#page(Number(behind?.position ?? 0) + 1, most))
  }

  async get(position: string): Promise<DeadLetter | undefined> {
    const place = placeOf(position)
    if (place === undefined) return undefined
    const [letter] = await this.#page(place, 1)
    return letter?.position === position ? letter : undefined
  }

  async redrive(position: string): Promise<boolean> {
    const place = placeOf(position)
    return place !== undefined && (await this.#file()).redrive(this.#group, place)
  }

  async discard(position: string): Promise<boolean> {
    const place = placeOf(position)
    return place !== undefined && (await this.#file()).discard(this.#group, place)
  }

  /** Dead letters from a place on. */
  async #page(from: number, most: number): Promise<DeadLetter[]> {
    return (await this.#file()).letters.page(this.#group, from, most)
  }
}

function placeOf(position: string): number | undefined {
  return /^[1-9]\d{0,14}$/.test(position) ? Number(position) : undefined
}

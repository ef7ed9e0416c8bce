/** The dead letters of one group in the file. */
import type { DeadLetter, DeadLetters, ListDeadLettersOptions } from '@elysia-microservices/transport/kit'
import type { EventFile } from '../connection/event-file.ts'
import { PAGE } from '../log/letters.ts'

/** Reads and changes dead letters; nothing is kept in memory. */
export class SqliteDeadLetters implements DeadLetters {
  readonly #group: string
  readonly #file: () => Promise<EventFile>

  constructor(group: string, file: () => Promise<EventFile>) {
    this.#group = group
    this.#file = file
  }

  async *list({ limit = Number.POSITIVE_INFINITY }: ListDeadLettersOptions = {}): AsyncGenerator<DeadLetter> {
    let from = 1
    for (let left = limit; left > 0; ) {
      const wanted = Math.min(PAGE, left)
      const page = (await this.#file()).letters.page(this.#group, from, wanted)
      for (const letter of page) {
        yield letter
        from = Number(letter.position) + 1
      }
      left -= page.length
      if (page.length < wanted) return
    }
  }

  async get(position: string): Promise<DeadLetter | undefined> {
    const place = placeOf(position)
    if (place === undefined) return undefined
    const [letter] = (await this.#file()).letters.page(this.#group, place, 1)
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
}

function placeOf(position: string): number | undefined {
  return /^[1-9]\d{0,14}$/.test(position) ? Number(position) : undefined
}

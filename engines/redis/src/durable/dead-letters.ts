/**
 * The dead letters of one group. They are kept in a stream of their own, from which they are redriven to the group.
 */
import { inPages } from '@elysia-microservices/engine'
import type { DeadLetter, DeadLetters, ListDeadLettersOptions } from '@elysia-microservices/transport/kit'
import type { DriverStore } from '../driver.ts'
import { againOf } from '../words/keys.ts'
import { readableError } from './errors.ts'
import { readDeadLetter } from './event.ts'

/** Reads and changes dead letters at the server; nothing is kept in this process. */
export class RedisDeadLetters implements DeadLetters {
  readonly #group: string
  readonly #store: () => Promise<DriverStore>

  constructor(group: string, store: () => Promise<DriverStore>) {
    this.#group = group
    this.#store = store
  }

  list({ limit }: ListDeadLettersOptions = {}): AsyncGenerator<DeadLetter> {
    return inPages(limit, async (behind, most) => {
      const from = behind === undefined ? '-' : `(${behind.position}`
      const page = await this.#ask((store) => store.letters(this.#group, from, most))
      return page.map(([position, fields]) => readDeadLetter(position, this.#group, fields).letter)
    })
  }

  async get(position: string): Promise<DeadLetter | undefined> {
    return (await this.#at(position))?.letter
  }

  async redrive(position: string): Promise<boolean> {
    const found = await this.#at(position)
    if (found === undefined) return false
    const again = againOf(this.#group, found.handler)
    return this.#ask((store) => store.redrive(this.#group, position, again))
  }

  async discard(position: string): Promise<boolean> {
    if (!isPosition(position)) return false
    return this.#ask((store) => store.discard(this.#group, position))
  }

  async #at(position: string): Promise<ReturnType<typeof readDeadLetter> | undefined> {
    if (!isPosition(position)) return undefined
    const [found] = await this.#ask((store) => store.letters(this.#group, position, 1))
    return found && readDeadLetter(position, this.#group, found[1])
  }

  async #ask<Answer>(ask: (store: DriverStore) => Promise<Answer>): Promise<Answer> {
    const store = await this.#store()
    try {
      return await ask(store)
    } catch (error) {
      throw readableError(error, `the dead letters of the group '${this.#group}'`)
    }
  }
}

/** Whether a text may be a position: both parts must fit into 64 bits. */
function isPosition(position: string): boolean {
  return /^\d{1,15}-\d{1,19}$/.test(position)
}

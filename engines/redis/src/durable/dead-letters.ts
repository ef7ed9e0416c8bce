/**
 * The dead letters of one group. They are kept in a stream of their own, from which they are redriven to the group.
 */
import type { DeadLetter, DeadLetters, ListDeadLettersOptions } from '@elysia-microservices/transport/kit'
import type { Redis } from 'ioredis'
import { readableError } from './errors.ts'
import { readDeadLetter } from './event.ts'
import { againOf, deadOf, wakeOf } from './keys.ts'
import { REDRIVE, run } from './scripts.ts'

/** Dead letters that are read at a time. */
const PAGE = 100

/** Reads and changes dead letters at the server; nothing is kept in this process. */
export class RedisDeadLetters implements DeadLetters {
  readonly #group: string
  readonly #commands: () => Promise<Redis>

  constructor(group: string, commands: () => Promise<Redis>) {
    this.#group = group
    this.#commands = commands
  }

  async *list({ limit = Number.POSITIVE_INFINITY }: ListDeadLettersOptions = {}): AsyncGenerator<DeadLetter> {
    let start = '-'
    for (let left = limit; left > 0; ) {
      const wanted = Math.min(PAGE, left)
      const from = start
      const page = await this.#ask((commands) =>
        commands.xrange(deadOf(this.#group), from, '+', 'COUNT', wanted)
      )
      for (const [position, fields] of page) {
        yield readDeadLetter(position, this.#group, fields).letter
        start = `(${position}`
      }
      left -= page.length
      if (page.length < wanted) return
    }
  }

  async get(position: string): Promise<DeadLetter | undefined> {
    return (await this.#at(position))?.letter
  }

  async redrive(position: string): Promise<boolean> {
    const found = await this.#at(position)
    if (found === undefined) return false
    const again = againOf(this.#group, found.handler)
    const keys = [deadOf(this.#group), again, wakeOf(again)]
    return (await this.#ask((commands) => run(commands, REDRIVE, keys, [position]))) === 1
  }

  async delete(position: string): Promise<boolean> {
    if (!isPosition(position)) return false
    return (await this.#ask((commands) => commands.xdel(deadOf(this.#group), position))) === 1
  }

  async #at(position: string): Promise<ReturnType<typeof readDeadLetter> | undefined> {
    if (!isPosition(position)) return undefined
    const [found] = await this.#ask((commands) => commands.xrange(deadOf(this.#group), position, position))
    return found && readDeadLetter(position, this.#group, found[1])
  }

  async #ask<Answer>(ask: (commands: Redis) => Promise<Answer>): Promise<Answer> {
    const commands = await this.#commands()
    try {
      return await ask(commands)
    } catch (error) {
      throw readableError(error, `the dead letters of the group '${this.#group}'`)
    }
  }
}

/** Whether a text may be a position: both parts must fit into 64 bits. */
function isPosition(position: string): boolean {
  return /^\d{1,15}-\d{1,19}$/.test(position)
}

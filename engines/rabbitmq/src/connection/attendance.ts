/**
 * Asks whether anybody consumes a queue shared with NestJS. RabbitMQ keeps requests in such a queue even if nobody
 * does.
 */
import { ConnectionError } from '@elysia-microservices/transport/kit'
import type { Link } from './link.ts'
import { Question } from './question.ts'

/** Milliseconds for which the answer that somebody consumes is remembered. */
const KNOWN_FOR = 1_000

/** Asks about one queue, with one request at a time. */
export class Attendance {
  readonly #link: Link
  readonly #queue: string
  readonly #question = new Question(() => this.#look())
  #knownUntil = 0

  constructor(link: Link, queue: string) {
    this.#link = link
    this.#queue = queue
  }

  /** Forgets the last answer. */
  forget(): void {
    this.#knownUntil = 0
  }

  /**
   * Calls a function with whether somebody consumes the queue: at once if the last answer was that somebody does,
   * otherwise after the server's answer. Functions are called in the order of the calls.
   */
  ask(told: (isAttended: boolean | Error) => void): void {
    if (!this.#question.isAsked && performance.now() < this.#knownUntil) told(true)
    else this.#question.ask(told)
  }

  async #look(): Promise<boolean | Error> {
    try {
      const { consumerCount } = await this.#link.aside((channel) => channel.checkQueue(this.#queue))
      if (consumerCount > 0) this.#knownUntil = performance.now() + KNOWN_FOR
      return consumerCount > 0
    } catch (error) {
      // If the queue does not exist, nobody consumes it.
      return /NOT.FOUND/.test((error as Error).message) ? false : (error as Error)
    }
  }
}

/** Whether the server refuses to answer. */
export function isRefusal(error: Error): boolean {
  return !(error instanceof ConnectionError) && /ACCESS.REFUSED/.test(error.message)
}

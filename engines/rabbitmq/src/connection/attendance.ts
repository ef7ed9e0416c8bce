/**
 * Asks whether anybody consumes a queue shared with NestJS. RabbitMQ keeps requests in such a queue even if nobody
 * does.
 */
import { ConnectionError } from '@elysia-microservices/transport/kit'
import type { Link } from './link.ts'

/** Milliseconds for which the answer that somebody consumes is remembered. */
const KNOWN_FOR = 1_000

/** Asks about one queue, with one request at a time. */
export class Attendance {
  readonly #link: Link
  readonly #queue: string
  #knownUntil = 0
  #isAsking = false
  #waiting: ((isAttended: boolean | Error) => void)[] = []

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
    if (!this.#isAsking && performance.now() < this.#knownUntil) return told(true)
    this.#waiting.push(told)
    if (this.#isAsking) return
    this.#isAsking = true
    void this.#look()
  }

  async #look(): Promise<void> {
    let answer: boolean | Error
    try {
      const { consumerCount } = await this.#link.aside((channel) => channel.checkQueue(this.#queue))
      answer = consumerCount > 0
    } catch (error) {
      // If the queue does not exist, nobody consumes it.
      answer = /NOT.FOUND/.test((error as Error).message) ? false : (error as Error)
    }
    this.#isAsking = false
    if (answer === true) this.#knownUntil = performance.now() + KNOWN_FOR
    for (const told of this.#waiting.splice(0)) told(answer)
  }
}

/** Whether the server refuses to answer. */
export function isRefusal(error: Error): boolean {
  return !(error instanceof ConnectionError) && /ACCESS.REFUSED/.test(error.message)
}

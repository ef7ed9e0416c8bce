/** Whether anybody takes what is sent to a queue of Nest's, which keeps requests also when nobody is there. */
import { ConnectionError } from '@elysia-microservices/transport/kit'
import type { Link } from './link.ts'

/** Milliseconds for which an answer counts. */
const KNOWN_FOR = 1_000

/** Asks about one queue, at most once at a time. */
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

  /** Nothing is known any more. */
  forget(): void {
    this.#knownUntil = 0
  }

  /**
   * Tells whether somebody takes what comes there: at once if it is known that somebody does, otherwise when the server
   * has said so, in the order of asking.
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
      // No such queue is nobody, too.
      answer = /NOT.FOUND/.test((error as Error).message) ? false : (error as Error)
    }
    this.#isAsking = false
    if (answer === true) this.#knownUntil = performance.now() + KNOWN_FOR
    for (const told of this.#waiting.splice(0)) told(answer)
  }
}

/** The server refuses to say it. */
export function isRefusal(error: Error): boolean {
  return !(error instanceof ConnectionError) && /ACCESS.REFUSED/.test(error.message)
}

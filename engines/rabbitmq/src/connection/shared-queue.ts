/**
 * Declares a queue shared with NestJS before the first event is sent to it, as NestJS's clients do: RabbitMQ drops
 * messages for a queue that does not exist. So events wait there for a service that starts later.
 */
import { ConnectionError, NotStoredError } from '@elysia-microservices/transport/kit'
import type { NestQueue } from '../options/options.ts'
import type { Link } from './link.ts'
import { Question } from './question.ts'

/** Declares one queue, with one request at a time. */
export class SharedQueue {
  readonly #link: Link
  readonly #queue: NestQueue
  readonly #question = new Question(() => this.#declare())
  #isThere = false

  constructor(link: Link, queue: NestQueue) {
    this.#link = link
    this.#queue = queue
  }

  /** The server was lost, and may come back without the queue. */
  forget(): void {
    this.#isThere = false
  }

  /**
   * Calls a function when the queue is there, or with the reason why it is not: at once if that is known, otherwise after
   * the server's answer. Functions are called in the order of the calls.
   */
  ask(told: (failure: Error | undefined) => void): void {
    if (!this.#question.isAsked && this.#isThere) told(undefined)
    else this.#question.ask(told)
  }

  async #declare(): Promise<Error | undefined> {
    try {
      await this.#declared()
      this.#isThere = true
      return undefined
    } catch (error) {
      return error instanceof ConnectionError ? error : this.#missing(error as Error)
    }
  }

  async #declared(): Promise<void> {
    const { name, options, noAssert } = this.#queue
    const check = () => this.#link.aside((channel) => channel.checkQueue(name))
    if (noAssert) return void (await check())
    // Perhaps this user may not declare it, or the service declares it otherwise, which is told where that starts.
    await this.#link.aside((channel) => channel.declareQueue(name, options)).catch(check)
  }

  #missing(cause: Error): NotStoredError {
    const { name } = this.#queue
    return new NotStoredError(
      `RabbitMQ has no queue '${name}' (options.nest.queue), and this client does not create it: ${cause.message}; start the service of the queue, or let the client's user create it`,
      true,
      cause
    )
  }
}

/** Copies of events on their way into another queue: confirmed before the event itself is acknowledged. */
import { NotStoredError } from '@elysia-microservices/transport/kit'
import type { ConfirmChannel, Options } from 'amqplib'
import type { Link, Part } from '../connection/link.ts'

/** What of a queue is the same for all that must not lose an event. */
export function safeQueue(more: Readonly<Record<string, unknown>>): Options.AssertQueue {
  return { durable: true, arguments: { 'x-queue-type': 'quorum', ...more } }
}

/** A queue whose events go on into another one, and are in one of them at any time. */
export function passingTo(queue: string): Readonly<Record<string, unknown>> {
  return {
    'x-dead-letter-exchange': '',
    'x-dead-letter-routing-key': queue,
    'x-dead-letter-strategy': 'at-least-once',
    'x-overflow': 'reject-publish'
  }
}

/** RabbitMQ has not said in time whether it has stored a message. */
export class UnconfirmedError extends NotStoredError {}

/** Publishes to queues by their names. */
export class Copies {
  readonly #link: Link
  readonly #part: Part<ConfirmChannel>

  private constructor(link: Link, part: Part<ConfirmChannel>) {
    this.#link = link
    this.#part = part
  }

  static async open(link: Link): Promise<Copies> {
    return new Copies(link, await link.open(async () => {}, { isConfirmed: true }))
  }

  /**
   * Resolves when a queue has it.
   * @throws {UnconfirmedError} it is not known whether it has
   * @throws {NotStoredError} it has not
   */
  put(queue: string, content: Buffer, options: Options.Publish): Promise<void> {
    return new Promise((resolve, reject) => {
      const failed = (cause?: unknown) =>
        reject(new NotStoredError(`RabbitMQ does not store a message in '${queue}' now`, true, cause))
      const { channel } = this.#part
      if (channel === undefined) return failed()
      const late = setTimeout(() => {
        const why = `RabbitMQ has not said for ${this.#link.timeout} ms whether it has stored a message in '${queue}': perhaps no server leads that queue; its log says more`
        reject(new UnconfirmedError(why, true))
      }, this.#link.timeout)
      late.unref?.()
      channel.publish('', queue, content, options, (error: unknown) => {
        clearTimeout(late)
        if (error) failed(error)
        else resolve()
      })
    })
  }
}

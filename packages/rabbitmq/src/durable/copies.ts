/** Copies of events on their way into another queue: confirmed before the event itself is acknowledged. */
import { NotStoredError } from '@elysia-microservices/transport/kit'
import type { ConfirmChannel, Message, Options } from 'amqplib'
import type { Link, Part } from '../connection/link.ts'
import { uniqueOf } from './stored.ts'

/** The options of a queue that must not lose an event. */
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

/** There is no such queue, or none that can be reached. */
export class NoQueueError extends NotStoredError {}

/** Publishes to queues by their names. */
export class Copies {
  readonly #link: Link
  #part: Part<ConfirmChannel> | undefined
  /** Copies that no queue has taken, by queue and event: RabbitMQ returns them, and confirms them all the same. */
  readonly #returned = new Set<string>()

  private constructor(link: Link) {
    this.#link = link
  }

  static async open(link: Link): Promise<Copies> {
    const copies = new Copies(link)
    const setUp = async (channel: ConfirmChannel) => {
      copies.#returned.clear()
      channel.on('return', ({ fields, properties }: Message) =>
        copies.#returned.add(placeOf(fields.routingKey, properties))
      )
    }
    copies.#part = await link.open(setUp, { isConfirmed: true })
    return copies
  }

  /**
   * Resolves when a queue has it.
   * @param options with `mandatory`
   * @throws {UnconfirmedError} it is not known whether it has
   * @throws {NoQueueError} it is not there
   * @throws {NotStoredError} it has not
   */
  put(queue: string, content: Buffer, options: Options.Publish): Promise<void> {
    return new Promise((resolve, reject) => {
      const failed = (cause?: unknown) =>
        reject(new NotStoredError(`RabbitMQ does not store a message in '${queue}' now`, true, cause))
      const channel = this.#part?.channel
      if (channel === undefined) return failed()
      const late = setTimeout(() => {
        const why = `RabbitMQ has not said for ${this.#link.timeout} ms whether it has stored a message in '${queue}': perhaps no server leads that queue; its log says more`
        reject(new UnconfirmedError(why, true))
      }, this.#link.timeout)
      late.unref?.()
      channel.publish('', queue, content, options, (error: unknown) => {
        clearTimeout(late)
        if (error) failed(error)
        else if (this.#returned.delete(placeOf(queue, options)))
          reject(new NoQueueError(`RabbitMQ has no queue '${queue}' now`, true))
        else resolve()
      })
    })
  }
}

function placeOf(queue: string, properties: Parameters<typeof uniqueOf>[0]): string {
  return `${queue} ${uniqueOf(properties)}`
}

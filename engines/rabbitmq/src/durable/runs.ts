/**
 * Counts how often the handler of an ordered event has begun, for events that RabbitMQ has delivered unusually often.
 * RabbitMQ counts deliveries, and an event is delivered to each next process while it waits behind another one: only
 * an event that has begun each time may become a dead letter. So a mark is stored before the handler begins, in a queue
 * of the event alone; the number of marks survives the process.
 */
import type { Link } from '../connection/link.ts'
import { exchangeOf, queueOfRuns } from '../words/names.ts'
import type { Copies } from './copies.ts'
import type { RabbitEvent } from './stored.ts'

/** Milliseconds after which RabbitMQ deletes the marks of an event that did not come again. */
const KEPT_FOR = 24 * 60 * 60 * 1000

/** The marks of one group. */
export class Runs {
  readonly #group: string
  readonly #copies: () => Copies

  constructor(group: string, copies: () => Copies) {
    this.#group = group
    this.#copies = copies
  }

  /**
   * Notes that an event begins. @returns how often it has begun, this time included; 0 if RabbitMQ does not tell: the
   * event runs all the same
   */
  async begin(event: RabbitEvent, link: Link): Promise<number> {
    const name = this.#nameFor(event)
    event.isCounted = true
    try {
      const options = { durable: true, expires: KEPT_FOR }
      const { messageCount } = await link.aside(async (channel) => {
        const queue = await channel.declareQueue(name, options)
        await channel.bindQueue(name, exchangeOf(this.#group), name)
        return queue
      })
      await this.#copies().put(this.#group, name, Buffer.from('begun'), {
        persistent: true,
        mandatory: true,
        messageId: event.unique
      })
      return messageCount + 1
    } catch {
      return 0
    }
  }

  /** The event is done, so its marks are deleted, if it has any. */
  end(event: RabbitEvent, link: Link): void {
    if (event.isCounted) link.aside((channel) => channel.deleteQueue(this.#nameFor(event))).catch(() => {})
  }

  #nameFor({ unique }: RabbitEvent): string {
    return queueOfRuns(this.#group, unique)
  }
}

/**
 * The deliveries over one channel that are not settled. Done ones are acknowledged once a turn, with one command where
 * it can.
 */
import type { Channel } from 'amqplib'

/** Milliseconds for the server to pass acknowledgements on. */
const PASSED_ON = 100

/** Of one channel. */
export class Deliveries {
  readonly channel: Channel
  /** Numbers of deliveries that are not settled, in the order of their coming. */
  readonly #open = new Set<number>()
  /** Those that are done, and not acknowledged yet. */
  #done: number[] = []
  #hasAcknowledged = false

  constructor(channel: Channel) {
    this.channel = channel
  }

  came(tag: number): void {
    this.#open.add(tag)
  }

  /** It is done. */
  acknowledge(tag: number): void {
    this.#open.delete(tag)
    if (this.#done.length === 0) setImmediate(() => this.flush())
    this.#done.push(tag)
    this.#hasAcknowledged = true
  }

  /**
   * Resolves when the channel may be closed: the server passes acknowledgements on to a quorum queue a few at a time, and
   * forgets the rest with their channel.
   */
  async passedOn(): Promise<void> {
    if (this.#hasAcknowledged) await new Promise((resolve) => setTimeout(resolve, PASSED_ON))
  }

  /** It comes again, here or elsewhere. */
  giveBack(tag: number): void {
    this.#open.delete(tag)
    this.#say(() => this.channel.nack(deliveryOf(tag)))
  }

  /** Acknowledges what is done. */
  flush(): void {
    const done = this.#done
    this.#done = []
    const [firstOpen = Number.POSITIVE_INFINITY] = this.#open
    const before = done.filter((tag) => tag < firstOpen)
    this.#say(() => {
      if (before.length > 0) this.channel.ack(deliveryOf(Math.max(...before)), true)
      for (const tag of done) if (tag > firstOpen) this.channel.ack(deliveryOf(tag))
    })
  }

  #say(task: () => void): void {
    try {
      task()
    } catch {
      // The channel is closed: what it has brought comes again.
    }
  }
}

/** All that the driver reads of a message that is settled. */
function deliveryOf(deliveryTag: number): Parameters<Channel['ack']>[0] {
  return { fields: { deliveryTag } } as Parameters<Channel['ack']>[0]
}

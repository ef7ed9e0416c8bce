/**
 * The deliveries over one channel that are not acknowledged. The done ones are acknowledged once in each turn of the
 * event loop, with one command if possible.
 */
import { type Clock, systemClock } from '@elysia-microservices/transport/kit'
import type { DriverChannel } from '../driver.ts'

/** Milliseconds within which the server passes acknowledgements on to a quorum queue. */
const PASSED_ON = 100

/** The deliveries of one channel. */
export class Deliveries {
  readonly channel: DriverChannel
  /** The tag of the consumer that receives these deliveries; `undefined`: nothing is received at the moment. */
  consumer: string | undefined
  readonly #clock: Clock
  /** The tags of deliveries that are not done, in the order of their arrival. */
  readonly #open = new Set<number>()
  /** The tags of deliveries that are done and not acknowledged yet. */
  #done: number[] = []
  #hasAcknowledged = false

  constructor(channel: DriverChannel, clock: Clock = systemClock) {
    this.channel = channel
    this.#clock = clock
  }

  came(tag: number): void {
    this.#open.add(tag)
  }

  /** Notes that a delivery is done. */
  acknowledge(tag: number): void {
    this.#open.delete(tag)
    if (this.#done.length === 0) setImmediate(() => this.flush())
    this.#done.push(tag)
    this.#hasAcknowledged = true
  }

  /**
   * Resolves when the channel may be closed: the server passes acknowledgements on to a quorum queue a few at a time,
   * and forgets the others if their channel is closed.
   */
  async passedOn(): Promise<void> {
    if (this.#hasAcknowledged) await new Promise<void>((resolve) => this.#clock.after(PASSED_ON, resolve))
  }

  /** Gives a delivery back: it is delivered again, to this process or another one. */
  giveBack(tag: number): void {
    this.#open.delete(tag)
    this.#say(() => this.channel.giveBack(tag))
  }

  /** Acknowledges the deliveries that are done. */
  flush(): void {
    const done = this.#done
    this.#done = []
    const [firstOpen = Number.POSITIVE_INFINITY] = this.#open
    const before = done.filter((tag) => tag < firstOpen)
    this.#say(() => {
      if (before.length > 0) this.channel.acknowledge(Math.max(...before), true)
      for (const tag of done) if (tag > firstOpen) this.channel.acknowledge(tag)
    })
  }

  #say(task: () => void): void {
    try {
      task()
    } catch {
      // The channel is closed: its messages are delivered again.
    }
  }
}

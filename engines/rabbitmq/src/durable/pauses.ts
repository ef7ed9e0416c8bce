/**
 * Two queues of a handler in which its failed events wait for their next attempts. The processes of its group receive
 * the events at the front, and move each back into the queue of the group when it is due. RabbitMQ itself could do
 * this, by a time to live and dead lettering. But with at-most-once dead lettering it may lose events, and with
 * at-least-once it may stall when a node is lost (3.10).
 */
import type { Clock, Logger } from '@elysia-microservices/transport/kit'
import { consume } from '../connection/consume.ts'
import type { Part } from '../connection/link.ts'
import type { RabbitConnection } from '../connection/rabbit-connection.ts'
import type { DriverChannel, Received } from '../driver.ts'
import { queueOfGroup, queueOfPause } from '../words/names.ts'
import type { Copies } from './copies.ts'
import { Deliveries } from './deliveries.ts'
import { declareSafe } from './queues.ts'
import { HEADER, RabbitEvent } from './stored.ts'

/**
 * Milliseconds for which a process keeps an event at most. An event that is due later then goes to the back of its
 * queue, so that other events come to the front, and because RabbitMQ closes a channel on which a message is
 * unacknowledged for 30 minutes.
 */
const LONGEST_HELD = 60_000
/** Events that a process receives from each queue in advance. */
const MOST_HELD = 256
/** Milliseconds until an event that could not be moved is tried again. */
const AGAIN = 1_000

/** The queue of a handler, and the function to publish to it. */
export interface PausesInit {
  readonly group: string
  /** The address of the handler's pattern. */
  readonly pattern: string
  /** The pattern of all events; `undefined`: they have several patterns. */
  readonly exact: string | undefined
  /** The events of the handler, for the log. */
  readonly what: string
  readonly copies: () => Copies
  readonly clock: Clock
  readonly logger: Logger
}

/** The waiting events of one handler. */
export class Pauses {
  readonly #init: PausesInit
  /**
   * The first queue is for events that are due within `LONGEST_HELD`, the second for all others: so long waits do not
   * hold up short ones.
   */
  readonly #short: string
  readonly #long: string
  readonly queues: readonly string[]
  #part: Part | undefined
  /** The deliveries of the current channel; `undefined` while the channel is lost. */
  #deliveries: Deliveries | undefined
  /** A function for each received event, which cancels that the event is moved when it is due. */
  readonly #held = new Set<() => void>()
  readonly #moving = new Set<Promise<void>>()
  #isFailing = false
  #isStopped = false

  constructor(init: PausesInit) {
    this.#init = init
    this.#short = queueOfPause(init.group, init.pattern, 'short')
    this.#long = queueOfPause(init.group, init.pattern, 'long')
    this.queues = [this.#short, this.#long]
  }

  get isThere(): boolean {
    return this.#part?.channel !== undefined
  }

  /** Creates the queues, and begins to receive from them. */
  async start({ link, hearing }: RabbitConnection): Promise<void> {
    const { what, logger } = this.#init
    const setUp = async (channel: DriverChannel) => {
      this.lost()
      const deliveries = new Deliveries(channel, this.#init.clock)
      this.#deliveries = deliveries
      await channel.prefetch(MOST_HELD)
      for (const queue of this.queues) await declareSafe(channel, this.#init.group, queue)
      for (const queue of this.queues) {
        const receive = (message: Received) => {
          const event = new RabbitEvent(message, deliveries, this.#init.exact)
          deliveries.came(event.tag)
          this.#hold(event)
        }
        await consume(channel, queue, hearing, receive, false)
      }
    }
    this.#part ??= await link.open(setUp, {
      isApart: true,
      alone: {
        closed: (error) => {
          this.lost()
          logger.error(
            `${what}: its retries are not received: ${error.message}; declaring their queues again`,
            error
          )
        },
        reopened: () => logger.warn(`${what}: its retries are received again`)
      }
    })
  }

  /** The number of waiting events, without those that other processes have received. */
  async count(): Promise<number> {
    const channel = this.#part?.channel
    const queues = channel === undefined ? [] : this.queues
    const found = await Promise.all(queues.map((queue) => channel?.checkQueue(queue)))
    return found.reduce((sum, queue) => sum + (queue?.messageCount ?? 0), this.#held.size)
  }

  /**
   * Stores a copy of a failed event.
   * @param delay milliseconds until the next attempt
   * @throws {NotStoredError} RabbitMQ has not stored the copy
   */
  put(event: RabbitEvent, delay: number): Promise<void> {
    return this.#copy(event, delay, { [HEADER.failed]: event.attempt })
  }

  #copy(event: RabbitEvent, delay: number, said: Readonly<Record<string, number>> = {}): Promise<void> {
    const queue = delay > LONGEST_HELD ? this.#long : this.#short
    const pause = Math.ceil(delay)
    const due = Math.ceil(this.#init.clock.now()) + pause
    const options = event.copyWith({ ...said, [HEADER.due]: due, [HEADER.pause]: pause })
    return this.#init.copies().put(this.#init.group, queue, event.message.content, options)
  }

  #hold(event: RabbitEvent, least = 0): void {
    if (this.#isStopped) return
    const left = Math.max(least, event.waits(this.#init.clock.now()))
    const cancel = this.#init.clock.after(Math.min(left, LONGEST_HELD), () => {
      this.#held.delete(cancel)
      const moving = this.#move(event, left - LONGEST_HELD)
      this.#moving.add(moving)
      void moving.then(() => this.#moving.delete(moving))
    })
    this.#held.add(cancel)
  }

  /**
   * Moves an event to another queue. If the process is killed in between, the event is in both queues: it may run
   * twice, but is never lost.
   * @param left milliseconds until it is due; 0 or less: now
   */
  async #move(event: RabbitEvent, left: number): Promise<void> {
    const { group, pattern, what, copies, logger } = this.#init
    const { message, deliveries, tag } = event
    try {
      if (left <= 0)
        await copies().put(group, queueOfGroup(group, pattern), message.content, event.copyWith({}))
      else await this.#copy(event, left)
      deliveries.acknowledge(tag)
      this.#isFailing = false
    } catch (error) {
      // The channel is lost, so the event is delivered again.
      if (deliveries !== this.#deliveries) return
      if (!this.#isFailing)
        logger.warn(`${what}: a retry cannot be moved to the queue of the group; trying again`, error)
      this.#isFailing = true
      this.#hold(event, AGAIN)
    }
  }

  /** The channel is lost: its events are delivered again, to this process or another one. */
  lost(): void {
    this.#deliveries = undefined
    for (const cancel of this.#held) cancel()
    this.#held.clear()
  }

  async leave(): Promise<void> {
    await this.#part?.remove()
    this.#part = undefined
  }

  /** Gives the received events to other processes. Resolves when events that were on their way have arrived. */
  async stop(): Promise<void> {
    const deliveries = this.#deliveries
    this.cut()
    await Promise.all(this.#moving)
    await deliveries?.passedOn()
    await this.leave()
  }

  cut(): void {
    this.#isStopped = true
    this.lost()
  }
}

/**
 * Two queues of a handler in which its failed events wait for their next attempts. The processes of its group hold the events
 * in front, and put each back into the group's queue when its pause is over. RabbitMQ itself could end pauses, by a time to
 * live and dead lettering; but at most once it may lose events, and at least once it may stall when a node is lost (3.10).
 */
import type { Logger } from '@elysia-microservices/transport/kit'
import type { Channel, ConsumeMessage } from 'amqplib'
import { consume } from '../connection/consume.ts'
import type { Part } from '../connection/link.ts'
import type { RabbitConnection } from '../connection/rabbit-connection.ts'
import { queueOfPause } from '../words/names.ts'
import { type Copies, safeQueue } from './copies.ts'
import { Deliveries } from './deliveries.ts'
import { HEADER, RabbitEvent } from './stored.ts'

/**
 * Milliseconds for which an event is held at most. If its pause lasts longer, it goes to the back of its queue then, so that
 * others are seen, and because RabbitMQ closes a channel on which a message is unacknowledged for 30 minutes.
 */
const LONGEST_HELD = 60_000
/** Events that a process holds of each queue. */
const MOST_HELD = 256
/** Milliseconds until an event that could not be moved is tried again. */
const AGAIN = 1_000

/** The queue of a handler, and how to publish there. */
export interface PausesInit {
  /** Where events come back to. */
  readonly queue: string
  /** The pattern of its events; `undefined`: they have several. */
  readonly exact: string | undefined
  /** Its events, for the log. */
  readonly what: string
  readonly copies: () => Copies
  readonly logger: Logger
}

/** The pauses of one handler's events. */
export class Pauses {
  readonly #init: PausesInit
  /** For events that are due within `LONGEST_HELD`, and for all others: so long pauses do not hold up short ones. */
  readonly #short: string
  readonly #long: string
  readonly queues: readonly string[]
  #part: Part | undefined
  /** Deliveries of the present channel; missing while it is lost. */
  #deliveries: Deliveries | undefined
  /** Events that are here, by what ends their pause. */
  readonly #held = new Set<ReturnType<typeof setTimeout>>()
  readonly #moving = new Set<Promise<void>>()
  #isFailing = false
  #isStopped = false

  constructor(init: PausesInit) {
    this.#init = init
    this.#short = queueOfPause(init.queue, 'short')
    this.#long = queueOfPause(init.queue, 'long')
    this.queues = [this.#short, this.#long]
  }

  get isThere(): boolean {
    return this.#part?.channel !== undefined
  }

  /** Makes the queues, and begins to hold what is in them. */
  async start({ link, hearing }: RabbitConnection): Promise<void> {
    const { what, logger } = this.#init
    const setUp = async (channel: Channel) => {
      this.lost()
      const deliveries = new Deliveries(channel)
      this.#deliveries = deliveries
      await channel.prefetch(MOST_HELD)
      for (const queue of this.queues) await channel.assertQueue(queue, safeQueue())
      for (const queue of this.queues) {
        const receive = (message: ConsumeMessage) => {
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
            `${what} does not end its pauses: ${error.message}; declaring their queues again`,
            error
          )
        },
        reopened: () => logger.warn(`${what} ends its pauses again`)
      }
    })
  }

  /** How many pause, without those that other processes hold. */
  async count(): Promise<number> {
    const channel = this.#part?.channel
    const queues = channel === undefined ? [] : this.queues
    const found = await Promise.all(queues.map((queue) => channel?.checkQueue(queue)))
    return found.reduce((sum, queue) => sum + (queue?.messageCount ?? 0), this.#held.size)
  }

  /**
   * Stores a copy of an event that has failed.
   * @param delay milliseconds
   * @throws {NotStoredError} RabbitMQ has not stored it
   */
  put(event: RabbitEvent, delay: number): Promise<void> {
    return this.#copy(event, Math.ceil(Date.now() + delay), { [HEADER.failed]: event.attempt })
  }

  #copy(event: RabbitEvent, due: number, said: Readonly<Record<string, number>> = {}): Promise<void> {
    const queue = due - Date.now() > LONGEST_HELD ? this.#long : this.#short
    const options = event.copyWith({ ...said, [HEADER.due]: due })
    return this.#init.copies().put(queue, event.message.content, options)
  }

  #hold(event: RabbitEvent, least = 0): void {
    if (this.#isStopped) return
    const left = Math.max(least, event.due - Date.now())
    const timer = setTimeout(
      () => {
        this.#held.delete(timer)
        const moving = this.#move(event, left <= LONGEST_HELD)
        this.#moving.add(moving)
        void moving.then(() => this.#moving.delete(moving))
      },
      Math.min(left, LONGEST_HELD)
    )
    this.#held.add(timer)
  }

  /** If its process is killed in between, an event is in both queues: it may run twice, and is never lost. */
  async #move(event: RabbitEvent, isDue: boolean): Promise<void> {
    const { queue, what, copies, logger } = this.#init
    const { due, message, deliveries, tag } = event
    try {
      if (isDue) await copies().put(queue, message.content, event.copyWith({}))
      else await this.#copy(event, due)
      deliveries.acknowledge(tag)
      this.#isFailing = false
    } catch (error) {
      // An event whose channel is lost comes again.
      if (deliveries !== this.#deliveries) return
      if (!this.#isFailing) logger.warn(`${what} cannot end a pause; trying again`, error)
      this.#isFailing = true
      this.#hold(event, AGAIN)
    }
  }

  /** The channel is gone: its events come again, here or elsewhere. */
  lost(): void {
    this.#deliveries = undefined
    for (const timer of this.#held) clearTimeout(timer)
    this.#held.clear()
  }

  async leave(): Promise<void> {
    await this.#part?.remove()
    this.#part = undefined
  }

  /** Gives the events here to other processes; resolves when those on their way have arrived. */
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

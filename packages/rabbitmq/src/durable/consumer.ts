/** One durable handler of a service in one process: its queue, its pauses, its dead letters. */
import {
  type Consumer,
  type ConsumerInit,
  figuresOf,
  newSecret,
  Recent,
  repeat
} from '@elysia-microservices/transport/engine'
import {
  type DurableFigures,
  DurableWorker,
  hasWildcards,
  OptionError,
  systemClock
} from '@elysia-microservices/transport/kit'
import type { Channel, ConsumeMessage } from 'amqplib'
import { consume } from '../connection/consume.ts'
import type { Part } from '../connection/link.ts'
import type { RabbitConnection } from '../connection/rabbit-connection.ts'
import {
  bindingOf,
  queueOfDead,
  queueOfGroup,
  queueOfMembers,
  queueOfPaused,
  STORED
} from '../words/names.ts'
import { type Copies, safeQueue } from './copies.ts'
import { Deliveries } from './deliveries.ts'
import { Pauses } from './pauses.ts'
import { HEADER, messageOf, RabbitEvent } from './stored.ts'

/** Milliseconds between looks at what the server says of the group. */
const LOOK = 5_000
/** Events in order are held in advance for each that may run, so that other keys can go on. */
const IN_ADVANCE = 16
/** Events that are remembered as done, in case the word about them was lost. */
const MAX_DONE = 10_000

export interface ConsumerOptions extends ConsumerInit {
  readonly copies: () => Copies
}

/** Takes the events of one group for one pattern. */
export class RabbitConsumer implements Consumer<RabbitConnection> {
  readonly group: string
  readonly #options: ConsumerOptions
  readonly #worker: DurableWorker<RabbitEvent>
  readonly #queue: string
  readonly #dead: string
  readonly #exact: string | undefined
  /** For errors and the log. */
  readonly #what: string
  /** Events that are here, and those that are done, by what tells them from others. */
  readonly #held = new Map<string, RabbitEvent>()
  readonly #done = new Recent<string, true>(MAX_DONE)
  readonly #endLooks: () => void
  readonly #pauses: Pauses
  #connection: RabbitConnection | undefined
  #part: Part | undefined
  /** The deliveries of the current channel; missing while it is lost. */
  #deliveries: Deliveries | undefined
  #tag: string | undefined
  #lag: number | undefined
  #isPaused = false
  #looking: Promise<void> | undefined
  #redeliveries = 0
  #isStopped = false

  constructor(options: ConsumerOptions) {
    const { dispatcher, route, pattern, group, via, logger } = options
    this.#options = options
    this.group = group
    this.#queue = queueOfGroup(group, pattern)
    this.#dead = queueOfDead(group)
    this.#exact = hasWildcards(pattern) ? undefined : pattern
    this.#what = `The durable event '${pattern}' of the group '${group}'`
    const { copies } = options
    this.#pauses = new Pauses({ queue: this.#queue, exact: this.#exact, what: this.#what, copies, logger })
    if (route.durable.start !== 'new')
      throw new OptionError(
        'options.durable.start',
        `The durable event '${pattern}' wants events from before its group: RabbitMQ stores events for groups that are there; leave durable.start out`
      )
    this.#worker = new DurableWorker<RabbitEvent>(
      route.durable,
      {
        run: (event) => dispatcher.event(messageOf(event, group, via)),
        isOurs: ({ deliveries }) => deliveries === this.#deliveries,
        letGo: (event) => this.#forget(event),
        acknowledge: (event) => this.#acknowledge(event),
        retry: (event, delay) => void this.#retry(event, delay),
        bury: (event, reason) => this.#bury(event, reason),
        left: () => this.#rest()
      },
      systemClock,
      logger
    )
    this.#endLooks = repeat(() => void this.look(), LOOK)
  }

  get running(): number {
    return this.#worker.running
  }

  get #isOrdered(): boolean {
    return this.#options.route.durable.ordered
  }

  get figures(): DurableFigures {
    const hasQueues = this.#part?.channel !== undefined && (this.#isOrdered || this.#pauses.isThere)
    const isThere = hasQueues || this.#connection?.isConnected !== true
    const unavailable = `${this.#what} is not received: its queue is gone, or cannot be made`
    return figuresOf(this.#options, this.#worker.figures, {
      lag: this.#lag,
      redeliveries: this.#redeliveries,
      isPaused: this.#isPaused,
      unavailable: isThere ? undefined : unavailable
    })
  }

  /**
   * Makes what is missing at the server, and begins to take events.
   * @throws {OptionError} what is there differs
   */
  async start(connection: RabbitConnection): Promise<void> {
    const { logger } = this.#options
    this.#connection = connection
    try {
      this.#part ??= await connection.link.open((channel) => this.#setUp(channel), {
        isApart: true,
        alone: {
          closed: (error) => {
            this.#deliveries = undefined
            logger.error(`${this.#what} is not received: ${error.message}; declaring its queue again`, error)
          },
          reopened: () => logger.warn(`${this.#what} is received again`)
        }
      })
      // In order an event pauses in its process, and no later one of its key overtakes it.
      if (!this.#isOrdered) await this.#pauses.start(connection)
    } catch (error) {
      if (!/406|PRECONDITION/.test((error as Error).message)) throw error
      throw new OptionError(
        'options.durable',
        `${this.#what} has a queue already that is otherwise (${(error as Error).message}); a handler that becomes 'ordered', or ceases to be, needs another group`,
        error
      )
    }
  }

  async #setUp(channel: Channel): Promise<void> {
    const { pattern, route, group } = this.#options
    const { ordered, concurrency } = route.durable
    // Events that came over an earlier channel are delivered again, here or elsewhere.
    for (const event of this.#worker.release()) this.#forget(event)
    this.#tag = undefined
    const deliveries = new Deliveries(channel)
    this.#deliveries = deliveries
    // RabbitMQ 3.10 may close the connection of one that consumes from a queue as another makes it: these are used later.
    const pauses = ordered ? [] : this.#pauses.queues
    for (const name of [...pauses, this.#dead, queueOfMembers(group), queueOfPaused(group)])
      await channel.assertQueue(name, safeQueue())
    await channel.assertQueue(this.#queue, safeQueue(ordered ? { 'x-single-active-consumer': true } : {}))
    await channel.bindQueue(this.#queue, STORED, bindingOf(pattern))
    await channel.prefetch(ordered ? concurrency * IN_ADVANCE : concurrency)
    await channel.consume(queueOfMembers(group), () => {}, { noAck: true })
    await this.#readPaused(channel)
    if (!this.#isPaused && !this.#isStopped) await this.#consume(deliveries)
  }

  async #consume(deliveries: Deliveries): Promise<void> {
    const { hearing } = this.#connection as RabbitConnection
    const receive = (message: ConsumeMessage) => this.#receive(message, deliveries)
    this.#tag = await consume(deliveries.channel, this.#queue, hearing, receive, false)
  }

  #receive(message: ConsumeMessage, deliveries: Deliveries): void {
    const event = new RabbitEvent(message, deliveries, this.#exact)
    deliveries.came(event.tag)
    if (event.attempt > 1) this.#redeliveries++
    const known = this.#held.get(event.unique)
    if (known !== undefined && known.failed === event.failed && known.deliveries !== deliveries) {
      // It runs here already: its end ends this delivery.
      known.deliveries = deliveries
      known.tag = event.tag
      return
    }
    // After a short pause the next attempt may come before the server has confirmed it: only then is the last one settled.
    const isNextAttempt = known !== undefined && known.failed < event.failed
    // Its publisher has sent it twice, or the word that it is done was lost.
    const isRepeated = known !== undefined && !isNextAttempt
    if (isRepeated || this.#done.get(event.unique)) return deliveries.acknowledge(event.tag)
    // In order, others may have it only when all that is here goes back at once.
    if (this.#isStopped && this.#isOrdered) return
    if (this.#isStopped || (this.#isPaused && !this.#isOrdered)) return deliveries.giveBack(event.tag)
    this.#held.set(event.unique, event)
    this.#worker.add(event)
  }

  #forget(event: RabbitEvent): void {
    if (this.#held.get(event.unique) === event) this.#held.delete(event.unique)
  }

  /** Says something of its last delivery, if it can still be said. */
  #settle(event: RabbitEvent, isDone: boolean): void {
    this.#forget(event)
    const { deliveries, tag } = event
    if (deliveries !== this.#deliveries) return
    if (isDone) deliveries.acknowledge(tag)
    else deliveries.giveBack(tag)
  }

  #acknowledge(event: RabbitEvent): void {
    this.#done.set(event.unique, true)
    this.#settle(event, true)
  }

  /** A copy waits in a queue whose events come back after a time; then the event itself is done. */
  async #retry(event: RabbitEvent, delay: number): Promise<void> {
    // Its process stops: it comes again in its place.
    if (this.#isOrdered) return this.#forget(event)
    try {
      await this.#pauses.put(event, delay)
      this.#settle(event, true)
    } catch (error) {
      this.#options.logger.warn(
        `A durable event '${event.pattern}' cannot pause; it comes again at once`,
        error
      )
      this.#settle(event, false)
    }
  }

  async #bury(event: RabbitEvent, reason: string): Promise<void> {
    const said = {
      [HEADER.reason]: reason,
      [HEADER.attempts]: event.attempt,
      // Moved back into the queue of its group it is a new event, whose attempts count from 1 again.
      [HEADER.unique]: newSecret(),
      [HEADER.failed]: 0
    }
    await this.#options.copies().put(this.#dead, event.message.content, event.copyWith(said))
    this.#acknowledge(event)
  }

  // ── the group ────────────────────────────────────────────────────────────────────────────────────────

  /** Reads what the server says of the group, and does it. */
  look(): Promise<void> {
    this.#looking ??= this.#lookNow()
      .catch(() => {})
      .finally(() => {
        this.#looking = undefined
      })
    return this.#looking
  }

  async #lookNow(): Promise<void> {
    const deliveries = this.#deliveries
    if (deliveries === undefined || this.#part === undefined || this.#isStopped) return
    const { channel } = deliveries
    await this.#readPaused(channel)
    if (this.#isPaused) await this.#pause()
    else if (this.#tag === undefined) {
      this.#worker.open()
      await this.#consume(deliveries)
    }
    const { messageCount } = await channel.checkQueue(this.#queue)
    this.#lag = messageCount + this.#held.size + (await this.#pauses.count())
  }

  async #readPaused(channel: Channel): Promise<void> {
    const { messageCount } = await channel.checkQueue(queueOfPaused(this.#options.group))
    this.#isPaused = messageCount > 0
  }

  /** Takes nothing new, and gives back what has not begun. */
  async #pause(): Promise<void> {
    if (this.#isOrdered) {
      this.#worker.close()
      return this.#rest()
    }
    const { channel } = this.#deliveries ?? {}
    const tag = this.#tag
    this.#tag = undefined
    if (channel !== undefined && tag !== undefined) await channel.cancel(tag)
    for (const event of this.#worker.release()) this.#settle(event, false)
  }

  /**
   * In order, what has not begun goes back together with our turn, and when nothing runs any more: otherwise another process
   * would have later events first, or at the same time.
   */
  #rest(): void {
    if (!this.#isPaused || !this.#isOrdered || this.#tag === undefined || this.#worker.running > 0) return
    this.#tag = undefined
    this.#part?.renew().catch((error: Error) => {
      this.#options.logger.error(
        `The queue of the durable event '${this.#options.pattern}' cannot be asked`,
        error
      )
    })
  }

  // ── its end ──────────────────────────────────────────────────────────────────────────────────────────

  lost(): void {
    // Only the channel on which its service publishes was closed: events go on coming over theirs.
    if (this.#connection?.link.isConnected === true) return
    this.#deliveries = undefined
    this.#pauses.lost()
    if (this.#isOrdered) this.#worker.close()
  }

  restored(): void {
    if (!this.#isPaused) this.#worker.open()
  }

  async leave(): Promise<void> {
    await this.#pauses.leave()
    await this.#part?.remove()
    this.#part = undefined
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#endLooks()
    const { released, ended } = this.#worker.stop()
    const ending = this.#pauses.stop()
    if (!this.#isOrdered) {
      await this.#pause().catch(() => {})
      for (const event of released) this.#settle(event, false)
    }
    await Promise.all([ended, ending])
    await this.#deliveries?.passedOn()
    await this.leave()
  }

  cut(): void {
    this.#endLooks()
    this.#pauses.cut()
    this.#deliveries?.flush()
    if (!this.#isOrdered) for (const event of this.#worker.held) this.#settle(event, false)
  }
}

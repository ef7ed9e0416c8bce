/** One durable handler of a service in one process: its queue, the queues for its retries, and its dead letters. */
import {
  type Consumer,
  type ConsumerInit,
  figuresOf,
  newSecret,
  Recent,
  repeat
} from '@elysia-microservices/engine'
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

/** Milliseconds between requests for the state of the group. */
const LOOK = 5_000
/**
 * An ordered handler receives this many events in advance for each event that may run, so that events with other keys
 * can go on.
 */
const IN_ADVANCE = 16
/** Events that are remembered as done, in case an acknowledgement was lost. */
const MAX_DONE = 10_000

export interface ConsumerOptions extends ConsumerInit {
  readonly copies: () => Copies
}

/** Receives the events of one group for one pattern. */
export class RabbitConsumer implements Consumer<RabbitConnection> {
  readonly group: string
  readonly #options: ConsumerOptions
  /** Retries whose copies are not stored yet. */
  readonly #retrying = new Set<Promise<void>>()
  readonly #worker: DurableWorker<RabbitEvent>
  readonly #queue: string
  readonly #dead: string
  readonly #exact: string | undefined
  /** The handler's events, for errors and the log. */
  readonly #what: string
  /** The received events, and those that are done, by their unique id. */
  readonly #held = new Map<string, RabbitEvent>()
  readonly #done = new Recent<string, true>(MAX_DONE)
  readonly #endLooks: () => void
  readonly #pauses: Pauses
  #connection: RabbitConnection | undefined
  #part: Part | undefined
  /** The deliveries of the current channel; `undefined` while the channel is lost. */
  #deliveries: Deliveries | undefined
  #tag: string | undefined
  /** Ends when the current channel is set up: until then, only `#declare` may begin to consume. */
  #settingUp: Promise<void> | undefined
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
        `The durable event '${pattern}' cannot begin with events from before its group: RabbitMQ stores events only for groups that exist; leave out durable.start`
      )
    this.#worker = new DurableWorker<RabbitEvent>(
      route.durable,
      {
        run: (event) => dispatcher.event(messageOf(event, group, via)),
        isOurs: ({ deliveries }) => deliveries === this.#deliveries,
        letGo: (event) => this.#forget(event),
        acknowledge: (event) => this.#acknowledge(event),
        retry: (event, delay) => this.#retryLater(event, delay),
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
   * Creates queues that are missing, and begins to receive events.
   * @throws {OptionError} a queue exists with other settings
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
      // An ordered event waits for its retry in this process, so that no later event with its key overtakes it. Only
      // other events need the queues for retries.
      if (!this.#isOrdered) await this.#pauses.start(connection)
    } catch (error) {
      if (!/406|PRECONDITION/.test((error as Error).message)) throw error
      throw new OptionError(
        'options.durable',
        `${this.#what} has a queue already, with other settings (${(error as Error).message}); a handler that becomes 'ordered', or ceases to be, needs another group`,
        error
      )
    }
  }

  #setUp(channel: Channel): Promise<void> {
    this.#settingUp = this.#declare(channel)
    return this.#settingUp
  }

  async #declare(channel: Channel): Promise<void> {
    const { pattern, route, group } = this.#options
    const { ordered, concurrency } = route.durable
    // Events that came over an earlier channel are delivered again, to this process or another one.
    for (const event of this.#worker.release()) this.#forget(event)
    this.#tag = undefined
    const deliveries = new Deliveries(channel)
    this.#deliveries = deliveries
    // RabbitMQ 3.10 may close the connection of a consumer while another connection is creating the same queue: so
    // these queues are created now and used later.
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
      // The event is running in this process. The end of its handler will acknowledge this delivery.
      known.deliveries = deliveries
      known.tag = event.tag
      return
    }
    // After a short wait, the next attempt may arrive before the server has confirmed its copy. The last attempt is
    // acknowledged only after this confirmation.
    const isNextAttempt = known !== undefined && known.failed < event.failed
    // The publisher has sent the event twice, or its acknowledgement was lost.
    const isRepeated = known !== undefined && !isNextAttempt
    if (isRepeated || this.#done.get(event.unique)) return deliveries.acknowledge(event.tag)
    // In an ordered group, other processes may get the event only together with all others of this process.
    if (this.#isStopped && this.#isOrdered) return
    if (this.#isStopped || (this.#isPaused && !this.#isOrdered)) return deliveries.giveBack(event.tag)
    this.#held.set(event.unique, event)
    this.#worker.add(event)
  }

  #forget(event: RabbitEvent): void {
    if (this.#held.get(event.unique) === event) this.#held.delete(event.unique)
  }

  /** Acknowledges or gives back the last delivery of an event, if its channel is still open. */
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

  #retryLater(event: RabbitEvent, delay: number): void {
    const retrying = this.#retry(event, delay).finally(() => this.#retrying.delete(retrying))
    this.#retrying.add(retrying)
  }

  /**
   * Stores a copy in a queue from which the event comes back after the delay. Then the event itself is acknowledged.
   */
  async #retry(event: RabbitEvent, delay: number): Promise<void> {
    // The process is stopping: an ordered event is delivered again at its place in the queue.
    if (this.#isOrdered) return this.#forget(event)
    try {
      await this.#pauses.put(event, delay)
      this.#settle(event, true)
    } catch (error) {
      this.#options.logger.warn(
        `A durable event '${event.pattern}' cannot be stored for a retry; it is delivered again at once`,
        error
      )
      this.#settle(event, false)
    }
  }

  async #bury(event: RabbitEvent, reason: string): Promise<void> {
    const said = {
      [HEADER.reason]: reason,
      [HEADER.attempts]: event.attempt,
      // A dead letter that a user moves back into the queue of its group is a new event, whose attempts count from 1
      // again.
      [HEADER.unique]: newSecret(),
      [HEADER.failed]: 0
    }
    await this.#options.copies().put(this.#dead, event.message.content, event.copyWith(said))
    this.#acknowledge(event)
  }

  // ── the group ────────────────────────────────────────────────────────────────────────────────────────

  /** Reads the state of the group from the server, and applies it. */
  look(): Promise<void> {
    this.#looking ??= this.#lookNow()
      .catch(() => {})
      .finally(() => {
        this.#looking = undefined
      })
    return this.#looking
  }

  async #lookNow(): Promise<void> {
    await this.#settingUp
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

  /** Stops receiving, and gives back the events that have not begun. */
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
   * Gives back the events of an ordered handler, and its turn, once no event is running any more: otherwise another
   * process would get later events first, or at the same time.
   */
  #rest(): void {
    if (!this.#isPaused || !this.#isOrdered || this.#tag === undefined || this.#worker.running > 0) return
    this.#tag = undefined
    this.#handOver().catch((error: Error) => {
      this.#options.logger.error(
        `The queue of the durable event '${this.#options.pattern}' cannot be given to another process`,
        error
      )
    })
  }

  /**
   * Waits until the server has all acknowledgements, then closes the channel. Without this wait, another process would
   * handle the same events again.
   */
  async #handOver(): Promise<void> {
    const deliveries = this.#deliveries
    deliveries?.flush()
    await deliveries?.passedOn()
    // Meanwhile the pause may have ended, or the channel may have been lost.
    if (this.#isPaused && !this.#isStopped && deliveries === this.#deliveries) await this.#part?.renew()
  }

  // ── its end ──────────────────────────────────────────────────────────────────────────────────────────

  lost(): void {
    // The server has closed only the channel on which the service publishes: events still arrive over their own
    // channels.
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
    // An event whose copy is not confirmed yet would be delivered again beside the copy.
    await Promise.all(this.#retrying)
    this.#deliveries?.flush()
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

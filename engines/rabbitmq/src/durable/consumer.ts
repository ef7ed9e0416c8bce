/** One durable handler of a service in one process: its queue, the queues for its retries, and its dead letters. */
import { type Consumer, figuresOf, repeat } from '@elysia-microservices/engine'
import {
  type Clock,
  type DurableFigures,
  DurableWorker,
  endedWithin,
  hasWildcards,
  OptionError,
  passedBy,
  systemClock
} from '@elysia-microservices/transport/kit'
import { consume } from '../connection/consume.ts'
import type { Part } from '../connection/link.ts'
import type { RabbitConnection } from '../connection/rabbit-connection.ts'
import type { DriverChannel, Received } from '../driver.ts'
import { queueOfGroup, queueOfMembers, queueOfPaused } from '../words/names.ts'
import { Declared } from './declared.ts'
import { Deliveries } from './deliveries.ts'
import { type ConsumerOptions, Handling } from './handling.ts'
import { HeldEvents } from './held.ts'
import { Pauses } from './pauses.ts'
import { declareQueues } from './queues.ts'
import { type Happening, type Reception, receptionAfter } from './reception.ts'
import { RabbitEvent } from './stored.ts'

/** Milliseconds between requests for the state of the group, while somebody reads the figures. */
const LOOK = 5_000
/** Milliseconds after a reading of the figures, for which they are kept up to date. */
const READ_FOR = 120_000
/**
 * An ordered handler receives this many events in advance, so that events with other keys can go on. It is the same
 * number in each process of a group, whatever its `concurrency`: a quorum queue puts what comes back behind what came
 * back before. So a process that could not take all that its predecessor had would give its part back behind the rest.
 */
const IN_ADVANCE = 256
/** Milliseconds within which the server confirms that it delivers nothing more, unless it is lost or has no memory. */
const CANCELED_WITHIN = 2_000

/** Receives the events of one group for one pattern. */
export class RabbitConsumer implements Consumer<RabbitConnection> {
  readonly group: string
  readonly #options: ConsumerOptions
  readonly #handling: Handling
  readonly #worker: DurableWorker<RabbitEvent>
  readonly #queue: string
  readonly #exact: string | undefined
  /** The handler's events, for errors and the log. */
  readonly #what: string
  readonly #held = new HeldEvents()
  readonly #endLooks: () => void
  readonly #pauses: Pauses
  readonly #clock: Clock
  #connection: RabbitConnection | undefined
  #part: Part | undefined
  /** Changes only in `#move`. */
  #reception: Reception = 'absent'
  /** The deliveries of the current channel; `undefined` while the channel is lost. */
  #deliveries: Deliveries | undefined
  /** Ends when the current channel is set up, or has been given up. */
  #settingUp: Promise<void> | undefined
  readonly #declared = new Declared()
  #yielding: Promise<void> | undefined
  #lag: number | undefined
  #readAt = Number.NEGATIVE_INFINITY
  /** The last state that the server has reported, for the figures. */
  #isPaused = false
  #hasBegun = false
  #looking: Promise<void> | undefined
  #redeliveries = 0

  constructor(options: ConsumerOptions) {
    const { route, pattern, group, logger } = options
    this.#options = options
    this.group = group
    this.#queue = queueOfGroup(group, pattern)
    this.#exact = hasWildcards(pattern) ? undefined : pattern
    this.#what = `The durable event '${pattern}' of the group '${group}'`
    const { copies, clock = systemClock } = options
    this.#clock = clock
    this.#pauses = new Pauses({
      group,
      pattern,
      exact: this.#exact,
      what: this.#what,
      copies,
      clock,
      logger
    })
    if (route.durable.start !== 'new')
      throw new OptionError(
        'options.durable.start',
        `The durable event '${pattern}' cannot begin with events from before its group: RabbitMQ stores events only for groups that exist; leave out durable.start`
      )
    const handling = new Handling({
      options,
      held: this.#held,
      pauses: this.#pauses,
      deliveries: () => this.#deliveries,
      link: () => (this.#connection as RabbitConnection).link
    })
    this.#handling = handling
    this.#worker = new DurableWorker<RabbitEvent>(
      route.durable,
      {
        run: (event) => handling.run(event),
        isOurs: ({ deliveries }) => deliveries === this.#deliveries,
        letGo: (event) => handling.letGo(event),
        acknowledge: (event) => handling.acknowledge(event),
        retry: (event, delay) => handling.retry(event, delay),
        bury: (event, reason) => handling.bury(event, reason),
        left: () => this.#left()
      },
      clock,
      logger
    )
    this.#endLooks = repeat(() => {
      if (passedBy(clock) - this.#readAt < READ_FOR) void this.look()
    }, LOOK)
  }

  get running(): number {
    return this.#worker.running
  }

  get #isOrdered(): boolean {
    return this.#options.route.durable.ordered
  }

  /** Whether the group is paused, as the server has said last. */
  get isPaused(): boolean {
    return this.#isPaused
  }

  /**
   * The figures, as the server has told them last. The server is asked only while they are read: otherwise, each handler
   * with nothing to do would cost it requests.
   */
  get figures(): DurableFigures {
    const now = passedBy(this.#clock)
    if (now - this.#readAt > LOOK) void this.look()
    this.#readAt = now
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
            this.#absent()
            logger.error(`${this.#what} is not received: ${error.message}; declaring its queue again`, error)
          },
          reopened: () => logger.warn(`${this.#what} is received again`)
        }
      })
      // An ordered event waits for its retry in this process, so that no later event with its key overtakes it. Only
      // other events need the queues for retries.
      if (!this.#isOrdered) await this.#pauses.start(connection)
      await this.#declared.soon(this.#what)
    } catch (error) {
      if (!/406|PRECONDITION/.test((error as Error).message)) throw error
      throw new OptionError(
        'options.durable',
        `${this.#what} has a queue already, with other settings (${(error as Error).message}); a handler that becomes 'ordered', or ceases to be, needs another group`,
        error
      )
    }
  }

  #setUp(channel: DriverChannel): Promise<void> {
    this.#settingUp = this.#declare(channel)
    return this.#settingUp
  }

  async #declare(channel: DriverChannel): Promise<void> {
    const { pattern, route, group } = this.#options
    const { ordered, concurrency } = route.durable
    this.#absent()
    const deliveries = new Deliveries(channel, this.#clock)
    this.#deliveries = deliveries
    // RabbitMQ 3.10 may close the connection of a consumer while another connection is creating the same queue: so
    // these queues are created now and used later.
    const pauses = ordered ? [] : this.#pauses.queues
    await declareQueues(channel, { group, pattern, ordered, pauses })
    this.#declared.done()
    await channel.prefetch(ordered ? IN_ADVANCE : concurrency)
    await channel.consume(queueOfMembers(group), () => {}, true)
    const isPaused = await this.#readPaused(channel)
    if (deliveries !== this.#deliveries) return
    this.#move(!this.#hasBegun ? 'declared early' : isPaused ? 'declared paused' : 'declared')
    if (this.#reception === 'reading') await this.#consume(deliveries)
  }

  begin(): void {
    this.#hasBegun = true
    this.#move(this.#isPaused ? 'begin paused' : 'begin')
    const deliveries = this.#deliveries
    if (this.#reception !== 'reading' || deliveries === undefined) return
    this.#settingUp = this.#consume(deliveries)
    // If the channel is lost meanwhile, it is set up again.
    this.#settingUp.catch(() => {})
  }

  async #consume(deliveries: Deliveries): Promise<void> {
    const { hearing } = this.#connection as RabbitConnection
    const receive = (message: Received) => this.#receive(message, deliveries)
    deliveries.consumer = await consume(deliveries.channel, this.#queue, hearing, receive, false)
  }

  #receive(message: Received, deliveries: Deliveries): void {
    const event = new RabbitEvent(message, deliveries, this.#exact)
    deliveries.came(event.tag)
    if (event.redelivered) this.#redeliveries++
    // A plain handler receives no more events than begin at once, so each delivery was a run.
    if (!this.#isOrdered) event.attempt += event.deliveredBefore
    const known = this.#held.meet(event)
    if (known === 'running') return
    if (known === 'repeated') return deliveries.acknowledge(event.tag)
    if (!this.#takes) {
      // In an ordered group, other processes may get the event only together with all others of this process.
      if (!this.#isOrdered) deliveries.giveBack(event.tag)
      return
    }
    this.#held.add(event)
    this.#worker.add(event)
  }

  /**
   * Whether events are taken that arrive. While a plain handler is being paused or stopped, those that were already on
   * their way begin: RabbitMQ would count a delivery that is given back as an attempt.
   */
  get #takes(): boolean {
    return ['reading', 'finishing', 'stopping'].includes(this.#reception)
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
    await this.#yielding
    const deliveries = this.#deliveries
    if (deliveries === undefined || this.#isStopped) return
    const { channel } = deliveries
    const isPaused = await this.#readPaused(channel)
    if (isPaused && !this.#isOrdered) await this.#cancel(deliveries)
    if (deliveries !== this.#deliveries) return
    const before = this.#reception
    this.#move(isPaused ? 'paused' : 'resumed')
    if (before === 'paused' && this.#reception === 'reading') await this.#consume(deliveries)
    const { messageCount } = await channel.checkQueue(this.#queue)
    this.#lag = messageCount + this.#held.size + (await this.#pauses.count())
  }

  async #readPaused(channel: DriverChannel): Promise<boolean> {
    const { messageCount } = await channel.checkQueue(queueOfPaused(this.#options.group))
    this.#isPaused = messageCount > 0
    return this.#isPaused
  }

  /** Receives nothing more. Resolves when all events have arrived that were on their way. */
  async #cancel(deliveries: Deliveries): Promise<void> {
    // The consumer may be on its way to the server.
    await this.#settingUp?.catch(() => {})
    const { channel, consumer } = deliveries
    deliveries.consumer = undefined
    if (consumer !== undefined) await channel.cancel(consumer)
  }

  async #receiveNoMore(): Promise<void> {
    await this.#settingUp?.catch(() => {})
    await this.#looking
    if (this.#deliveries !== undefined) await this.#cancel(this.#deliveries)
  }

  get #isStopped(): boolean {
    return this.#reception === 'stopping' || this.#reception === 'stopped'
  }

  #move(happening: Happening): void {
    const next = receptionAfter(this.#reception, happening, this.#isOrdered)
    if (next === this.#reception) return
    this.#reception = next
    if (next === 'reading') this.#worker.open()
    else if (next !== 'stopping') this.#worker.close()
    if (next === 'yielding') this.#yielding = this.#yield()
    if (next === 'finishing') this.#left()
  }

  #left(): void {
    if (this.#worker.running === 0) this.#move('idle')
  }

  /**
   * Gives the turn of an ordered handler, and the events that have not begun, to other processes. First waits until the
   * server has all acknowledgements: otherwise another process would handle the same events again.
   */
  async #yield(): Promise<void> {
    const deliveries = this.#deliveries as Deliveries
    this.#release()
    try {
      deliveries.flush()
      await deliveries.passedOn()
      // Meanwhile the channel may have been lost, or the service stopped.
      if (this.#reception === 'yielding' && deliveries === this.#deliveries) await this.#part?.renew()
    } catch (error) {
      this.#options.logger.error(
        `The queue of the durable event '${this.#options.pattern}' cannot be given to another process`,
        error
      )
    }
  }

  /** Lets go of events that have not begun: the server delivers them again, to this process or another one. */
  #release(): void {
    for (const event of this.#worker.release()) this.#held.forget(event)
  }

  /** There is no channel now: what came over it is delivered again. */
  #absent(): void {
    this.#deliveries = undefined
    this.#move('lost')
    this.#release()
  }

  // ── its end ──────────────────────────────────────────────────────────────────────────────────────────

  lost(): void {
    // The server has closed only the channel on which the service publishes: events still arrive over their own
    // channels.
    if (this.#connection?.link.isConnected === true) return
    this.#pauses.lost()
    this.#absent()
  }

  /** Nothing to do: the link sets up the channel again, and then it is known whether the group is paused. */
  restored(): void {}

  async leave(): Promise<void> {
    await this.#pauses.leave()
    await this.#part?.remove()
    this.#part = undefined
    this.#absent()
  }

  async stop(): Promise<void> {
    this.#endLooks()
    // A start that waits for the queue ends now.
    this.#declared.done()
    this.#move('stop')
    const ending = this.#pauses.stop()
    if (!this.#isOrdered) await endedWithin(this.#receiveNoMore(), CANCELED_WITHIN).catch(() => {})
    this.#move('stopped')
    const { released, ended } = this.#worker.stop()
    if (!this.#isOrdered) for (const event of released) this.#held.settle(event, false, this.#deliveries)
    await Promise.all([ended, ending])
    await this.#handling.stored()
    this.#deliveries?.flush()
    await this.#deliveries?.passedOn()
    await this.leave()
  }

  cut(): void {
    this.#endLooks()
    this.#pauses.cut()
    this.#deliveries?.flush()
    if (!this.#isOrdered)
      for (const event of this.#worker.held) this.#held.settle(event, false, this.#deliveries)
  }
}

/** One durable handler of a service in one process: its group in the database, and its events. */
import {
  type Consumer,
  type ConsumerInit,
  figuresOf,
  storedMessage,
  whyTooOld
} from '@elysia-microservices/engine'
import type { DatabaseSql } from '@elysia-microservices/outbox/database'
import {
  type Clock,
  type Delivery,
  type DurableFigures,
  DurableWorker,
  hasWildcards,
  isForOthers,
  OptionError,
  skippedAtStart,
  systemClock
} from '@elysia-microservices/transport/kit'
import type { PostgresConnection } from '../connection/postgres-connection.ts'
import type { CheckedOptions } from '../options/options.ts'
import type { TakenEvent } from './event.ts'
import { matcherOf, startOf } from './groups.ts'
import type { Taker } from './taker.ts'
import type { Transactions } from './transactions.ts'
import type { Turns } from './turns.ts'

/** Milliseconds within which events that are taken in advance are to begin, and most of these events. */
const MOMENT = 20
const MOST_AHEAD = 1_000

/** Receives the events of one group for one pattern. */
export class PostgresConsumer implements Consumer<PostgresConnection>, Taker {
  readonly #init: ConsumerInit
  readonly #turns: Turns
  readonly #transactions: Transactions<DatabaseSql>
  readonly #worker: DurableWorker<TakenEvent>
  /** Events that this process still owns. */
  readonly #held = new Set<TakenEvent>()
  groupId = 0
  #lag: number | undefined
  #isPaused = false
  #redeliveries = 0
  #hasBegun = false

  /** @throws {OptionError} the handler is transactional, and the pool has no connection for it */
  constructor(
    init: ConsumerInit,
    options: CheckedOptions,
    turns: Turns,
    transactions: Transactions<DatabaseSql>,
    clock: Clock = systemClock
  ) {
    this.#init = init
    this.#turns = turns
    this.#transactions = transactions
    if (this.isTransactional) transactions.check(init.pattern)
    const { route, logger } = init
    this.#worker = new DurableWorker<TakenEvent>(
      route.durable,
      {
        run: (event) => this.#run(event),
        isOurs: (event) => this.#held.has(event) && turns.owns(event),
        letGo: (event) => this.#giveBack(event, 0),
        acknowledge: (event) => this.#acknowledge(event),
        whyNotLater: ({ publishedAt, isFree }, delay) =>
          isFree ? undefined : whyTooOld(publishedAt, options.maxAge, delay, clock.now()),
        retry: (event, delay) => this.#giveBack(event, delay),
        bury: (event, reason) => this.#bury(event, reason),
        left: () => turns.wake()
      },
      clock,
      logger
    )
  }

  get running(): number {
    return this.#worker.running
  }

  get pattern(): string {
    return this.#init.pattern
  }

  get isOrdered(): boolean {
    return this.#init.route.durable.ordered
  }

  get isTransactional(): boolean {
    return this.#init.route.durable.transactional
  }

  get figures(): DurableFigures {
    this.#turns.wantFigures()
    return figuresOf(this.#init, this.#worker.figures, {
      lag: this.#lag,
      redeliveries: this.#redeliveries,
      isPaused: this.#isPaused,
      unavailable: undefined
    })
  }

  /** @throws {OptionError} the group exists with other settings */
  async start(connection: PostgresConnection): Promise<void> {
    const { group, pattern, route } = this.#init
    const { ordered, start } = route.durable
    const matcher = hasWildcards(pattern) ? matcherOf(pattern) : null
    const joined = await connection.tables.join(group, pattern, matcher, ordered, startOf(start))
    if (joined.ordered !== ordered)
      throw new OptionError(
        'options.durable.ordered',
        `The group '${group}' handles '${pattern}' already with ordered: ${joined.ordered}, and this service wants ordered: ${ordered}; let them agree, or give one another group`
      )
    if (joined.skipped > 0) this.#init.logger.warn(skippedAtStart(group, pattern, joined.skipped))
    this.groupId = joined.id
    if (this.#hasBegun) this.#turns.add(this)
  }

  begin(): void {
    this.#hasBegun = true
    if (this.groupId !== 0) this.#turns.add(this)
  }

  lost(events?: readonly TakenEvent[]): void {
    // Without events: the server is lost, and what has not begun waits for the end of its lease.
    for (const event of events ?? []) this.#held.delete(event)
  }

  restored(): void {
    this.#turns.wake()
  }

  async leave(): Promise<void> {
    this.#turns.remove(this)
  }

  async stop(): Promise<void> {
    const { released, ended } = this.#worker.stop()
    this.#turns.remove(this)
    for (const event of released) this.#giveBack(event, 0)
    await ended
  }

  cut(): void {
    for (const event of this.#worker.held) this.#giveBack(event, 0)
    this.#turns.remove(this)
  }

  // ── events ───────────────────────────────────────────────────────────────────────────────────────────

  /**
   * As many events as begin at once, and those that begin within a moment: all others are better left to other
   * processes. Half of them come with each turn, and are handled while the next one is on its way. An ordered handler
   * also gets events that wait for others of their key, because no other process may have these.
   */
  get room(): number {
    const { concurrency, ordered } = this.#init.route.durable
    const { room, held } = this.#worker
    if (ordered) return room
    const wanted = concurrency + this.#ahead
    return Math.min(wanted - held.size, Math.max(concurrency, Math.ceil(wanted / 2)))
  }

  /** Events that begin within a moment: once more as many at most, or those that end one after the other. */
  get #ahead(): number {
    const { concurrency } = this.#init.route.durable
    const inTurn = this.#worker.endsWithin(MOMENT)
    return Math.floor(Math.min(MOST_AHEAD, Math.max(inTurn, Math.min(1, inTurn) * concurrency)))
  }

  /** As many as begin at once: those that wait when an event ends its process count as begun. */
  get mostBack(): number {
    const { concurrency, ordered } = this.#init.route.durable
    return ordered ? Math.max(0, this.room) : concurrency
  }

  deliver(event: TakenEvent): void {
    if (event.attempt > 1) this.#redeliveries++
    this.#held.add(event)
    this.#worker.add(event)
  }

  #run(event: TakenEvent): void | Promise<void> {
    event.begun = event.attempt
    const { dispatcher, group, via, logger } = this.#init
    const message = storedMessage('postgres', event, event.row.body, group, via)
    // One for another group runs no handler here, so that nothing begins a transaction.
    if (!this.isTransactional || isForOthers(message)) return dispatcher.event(message)
    const delivery = message.delivery as Delivery
    return this.#transactions.runs.around(delivery, event, logger, () => dispatcher.event(message))
  }

  #acknowledge(event: TakenEvent): void {
    this.#settle(event, this.isTransactional && !event.isAcknowledged ? 'discarded' : 'done')
  }

  #settle(event: TakenEvent, fate: Parameters<Turns['settle']>[1]): boolean {
    if (!this.#held.delete(event)) return false
    this.#turns.settle(event, fate)
    return true
  }

  #giveBack(event: TakenEvent, delay: number): void {
    // An event that waits in the database would be overtaken.
    this.#settle(event, { delay: this.isOrdered && !event.isFree ? 0 : delay })
  }

  async #bury(event: TakenEvent, reason: string): Promise<void> {
    if (this.#settle(event, { reason })) await this.#turns.written()
  }

  setFigures(lag: number, isPaused: boolean): void {
    this.#lag = lag
    this.#isPaused = isPaused
  }
}

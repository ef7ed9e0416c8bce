/** One durable handler of a service: its group in the file, and its events. */
import {
  type Consumer,
  type ConsumerInit,
  figuresOf,
  storedMessage,
  whyTooOld
} from '@elysia-microservices/engine'
import {
  type Delivery,
  type DurableFigures,
  DurableWorker,
  isForOthers,
  type Logger,
  skippedAtStart
} from '@elysia-microservices/transport/kit'
import type { SqliteConnection } from '../connection/files.ts'
import type { InTransaction } from '../connection/in-transaction.ts'
import type { Member } from '../connection/members.ts'
import type { TakenEvent } from '../log/event.ts'
import type { Group } from '../log/groups.ts'
import type { CheckedOptions } from '../options/options.ts'
import type { Acknowledger, Transactions } from './transactions.ts'

/** Receives the events of one group for one pattern. */
export class SqliteConsumer implements Consumer<SqliteConnection>, Member, Acknowledger {
  readonly logger: Logger
  readonly #init: ConsumerInit
  readonly #options: CheckedOptions
  readonly #transactions: Transactions
  readonly #worker: DurableWorker<TakenEvent>
  /** The events that this handler has, and nobody else in the process. */
  readonly #held = new Set<TakenEvent>()
  #connection: SqliteConnection | undefined
  #group: Group | undefined
  #redeliveries = 0
  #hasBegun = false

  constructor(init: ConsumerInit, options: CheckedOptions, transactions: Transactions) {
    this.#init = init
    this.#options = options
    this.#transactions = transactions
    const { route, logger } = init
    const { clock, maxAge } = options
    this.logger = logger
    this.#worker = new DurableWorker<TakenEvent>(
      route.durable,
      {
        run: (event) => this.#run(event),
        isOurs: (event) => this.#held.has(event),
        letGo: (event) => this.#giveBack(event, 0),
        acknowledge: (event) => this.#acknowledge(event),
        whyNotLater: ({ publishedAt, isFree }, delay) =>
          isFree ? undefined : whyTooOld(publishedAt, maxAge, delay, clock.now()),
        retry: (event, delay) => this.#giveBack(event, delay),
        bury: (event, reason) => this.#bury(event, reason),
        left: () => this.#wake()
      },
      clock,
      logger
    )
  }

  get running(): number {
    return this.#worker.running
  }

  get figures(): DurableFigures {
    const { file } = this.#connection ?? {}
    const group = this.#group
    return figuresOf(this.#init, this.#worker.figures, {
      lag: file && group && file.groups.lag(group),
      redeliveries: this.#redeliveries,
      isPaused: group?.isPaused ?? false,
      unavailable: undefined
    })
  }

  /** @throws {OptionError} the group exists with other settings */
  async start(connection: SqliteConnection): Promise<void> {
    const { group, pattern, route } = this.#init
    this.#connection = connection
    const joined = connection.file.group(group, pattern, route.durable)
    if (joined.skipped > 0) this.logger.warn(skippedAtStart(group, pattern, joined.skipped))
    joined.skipped = 0
    this.#group = joined
    if (this.#hasBegun) connection.file.join(joined, this)
  }

  begin(): void {
    this.#hasBegun = true
    if (this.#group !== undefined) this.#connection?.file.join(this.#group, this)
  }

  lost(): void {}

  restored(): void {}

  async leave(): Promise<void> {
    this.#leave()
  }

  async stop(): Promise<void> {
    const { released, ended } = this.#worker.stop()
    for (const event of released) this.#giveBack(event, 0)
    // Until then no other handler gets events of the group, if it is ordered.
    await ended
    this.#leave()
  }

  cut(): void {
    for (const event of this.#worker.held) this.#giveBack(event, 0)
    this.#leave()
  }

  #leave(): void {
    if (this.#group !== undefined) this.#connection?.file.leave(this.#group, this)
  }

  #wake(): void {
    if (this.#group !== undefined) this.#connection?.file.wake(this.#group)
  }

  // ── events ───────────────────────────────────────────────────────────────────────────────────────────

  /**
   * As many events as begin at once: the file is at hand, so nothing is fetched before it can begin, and the process has
   * begun what it has. An ordered handler also gets events that wait for others of their key.
   */
  get room(): number {
    const { concurrency, ordered } = this.#init.route.durable
    const { room, held } = this.#worker
    return ordered ? room : Math.min(room, concurrency - held.size)
  }

  deliver(events: readonly TakenEvent[]): void {
    for (const event of events) {
      if (event.attempt > 1) this.#redeliveries++
      this.#held.add(event)
    }
    for (const event of events) this.#worker.add(event)
  }

  #run(event: TakenEvent): void | Promise<void> {
    if (event.begun < event.attempt) this.#connection?.file.begin(this.#group as Group, event)
    const { dispatcher, group, via, route } = this.#init
    const message = storedMessage('sqlite', event, event.body, group, via)
    // One for another group runs no handler here, so that nothing begins a transaction.
    if (!route.durable.transactional || isForOthers(message)) return dispatcher.event(message)
    return this.#transactions.around(message.delivery as Delivery, event, this, () =>
      dispatcher.event(message)
    )
  }

  has(event: TakenEvent): boolean {
    return this.#held.has(event)
  }

  acknowledgeIn<Result>(event: TakenEvent, run: InTransaction<Result>): Result {
    const { file } = this.#connection as SqliteConnection
    return file.acknowledgeIn(this.#group as Group, event, run)
  }

  #acknowledge(event: TakenEvent): void {
    if (this.#held.delete(event) && !event.isAcknowledged) this.#settle({ kind: 'done', event })
  }

  /** Gives an event back, with the runs that have begun. @param delay milliseconds */
  #giveBack(event: TakenEvent, delay: number): void {
    if (!this.#held.delete(event)) return
    // An event that waits in the file would be overtaken.
    const pause = this.#init.route.durable.ordered && !event.isFree ? 0 : delay
    this.#settle({ kind: 'back', event, pause })
  }

  async #bury(event: TakenEvent, reason: string): Promise<void> {
    if (!this.#held.delete(event)) return
    const died = this.#options.clock.now()
    await new Promise<void>((resolve) => this.#settle({ kind: 'dead', event, reason, died }, resolve))
  }

  #settle(settled: Parameters<SqliteConnection['file']['settle']>[1], done?: () => void): void {
    this.#connection?.file.settle(this.#group as Group, settled, done)
  }
}

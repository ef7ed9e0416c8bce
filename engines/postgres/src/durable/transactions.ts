/**
 * The transactions of handlers: what a handler writes and the acknowledgement of its event are committed together, or
 * neither is.
 */
import {
  type DatabaseSql,
  databaseOf,
  type TransactionOf,
  type TransactionSql,
  transactionOf
} from '@elysia-microservices/outbox/database'
import { type Delivery, type Logger, OptionError, shown } from '@elysia-microservices/transport/kit'
import { acknowledgeEvent } from '../connection/tables.ts'
import type { TakenEvent } from './event.ts'

/** Connections of the pool that transactions leave to the store: for its turns, and to listen. */
const LEFT_TO_STORE = 2

/** One run of a transactional handler. */
interface Run {
  readonly event: TakenEvent
  readonly logger: Logger
  /** The transaction that was begun for the handler; `undefined`: none yet, or it was rolled back. */
  transaction: Promise<unknown> | undefined
  isCommitted: boolean
  /** Acknowledged before, or in the hands of another process. */
  isGone: boolean
  isOver: boolean
}

/** The transactions of one `postgres()`. */
export class Transactions<Sql extends DatabaseSql> {
  readonly #sql: Sql
  readonly #schema: string
  readonly #runs = new WeakMap<Delivery, Run>()
  #open = 0
  readonly #waiting: (() => void)[] = []

  constructor(sql: Sql, schema: string) {
    this.#sql = sql
    this.#schema = schema
  }

  /** Most transactions at the same time. */
  get #most(): number {
    const { max } = Object(Reflect.get(this.#sql, 'options')) as { readonly max?: unknown }
    return typeof max === 'number' ? max - LEFT_TO_STORE : Number.POSITIVE_INFINITY
  }

  /** @throws {OptionError} the pool has no connection for a transaction */
  check(pattern: string): void {
    if (this.#most < 1)
      throw new OptionError(
        'sql',
        `The handler of '${shown(pattern)}' is transactional, which takes a connection for each event that runs, beside ${LEFT_TO_STORE} for the store; give the pool at least ${LEFT_TO_STORE + 1} (max)`
      )
  }

  /** Runs a transactional handler. Resolves if its event is acknowledged, by its transaction or an earlier one. */
  async around(
    delivery: Delivery,
    event: TakenEvent,
    logger: Logger,
    handle: () => void | Promise<void>
  ): Promise<void> {
    const run: Run = {
      event,
      logger,
      transaction: undefined,
      isCommitted: false,
      isGone: false,
      isOver: false
    }
    this.#runs.set(delivery, run)
    event.isAcknowledged = false
    try {
      await handle()
      await run.transaction
    } catch (error) {
      await run.transaction?.catch(() => {})
      if (run.isGone) return
      if (!run.isCommitted) throw error
      const what = `the event '${shown(event.pattern)}' (id ${event.id})`
      logger.warn(`The handler of ${what} has failed after its transaction was committed: it is done`, error)
    } finally {
      run.isOver = true
      event.isAcknowledged ||= run.isGone
    }
    if (!event.isAcknowledged) throw new Error(UNTOUCHED)
  }

  /** @see PostgresStore.transaction */
  async transaction<Result>(
    delivery: Delivery | undefined,
    handle: (transaction: TransactionOf<Sql>) => PromiseLike<Result> | Result
  ): Promise<Result> {
    const run = this.#runOf(delivery)
    const transaction = this.#inTurn(run, handle)
    run.transaction = transaction
    return await transaction
  }

  async #inTurn<Result>(
    run: Run,
    handle: (transaction: TransactionOf<Sql>) => PromiseLike<Result> | Result
  ): Promise<Result> {
    if (this.#open >= this.#most) await new Promise<void>((resolve) => this.#waiting.push(resolve))
    else this.#open++
    try {
      const result = await databaseOf(this.#sql).transaction(async (connection, transaction) => {
        await this.#acknowledge(connection, run)
        return await handle(transaction as TransactionOf<Sql>)
      })
      run.isCommitted = true
      run.event.isAcknowledged = true
      return result
    } catch (error) {
      run.transaction = undefined
      throw error
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#open--
      else next()
    }
  }

  /** @see PublishingTransaction.acknowledge */
  async acknowledge(transaction: TransactionSql, delivery: Delivery | undefined): Promise<void> {
    const run = this.#runOf(delivery)
    await this.#acknowledge(transactionOf(transaction), run)
    // Whether that transaction is committed, the database knows.
    run.event.isAcknowledged = true
  }

  async #acknowledge(connection: Parameters<typeof acknowledgeEvent>[0], run: Run): Promise<void> {
    run.isGone = !(await acknowledgeEvent(connection, this.#schema, run.event.row))
    if (run.isGone) throw new Error(GONE)
  }

  #runOf(delivery: Delivery | undefined): Run {
    const run = delivery && this.#runs.get(delivery)
    if (run === undefined)
      throw new OptionError(
        'delivery',
        'delivery must be that of an event which a handler with durable: { transactional: true } has from this store'
      )
    if (run.isOver)
      throw new OptionError('delivery', 'The handler of this delivery has ended: await its transaction')
    if (run.transaction !== undefined || run.event.isAcknowledged)
      throw new OptionError(
        'delivery',
        'This delivery has a transaction already: write everything in that one'
      )
    return run
  }
}

const UNTOUCHED =
  'The handler is transactional and has ended without its transaction: call store.transaction(delivery, …), store.in(tx).acknowledge(delivery), or throw new Discard(…)'
const GONE = 'The event is acknowledged already, or another process has it; the transaction is rolled back'

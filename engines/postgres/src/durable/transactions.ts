/**
 * The transactions of handlers: what a handler writes and the acknowledgement of its event are committed together, or
 * neither is.
 */
import { type TransactionalRun, TransactionalRuns } from '@elysia-microservices/engine'
import {
  type Connection,
  type DatabaseSql,
  databaseOf,
  type TransactionOf,
  type TransactionSql,
  transactionOf
} from '@elysia-microservices/outbox/database'
import { type Delivery, OptionError, shown } from '@elysia-microservices/transport/kit'
import { acknowledgeEvent } from '../connection/in-transaction.ts'
import type { TakenEvent } from './event.ts'

/** Connections of the pool that transactions leave to the store: for its turns, and to listen. */
const LEFT_TO_STORE = 2

/** The transactions of one `postgres()`. */
export class Transactions<Sql extends DatabaseSql> {
  readonly runs = new TransactionalRuns<TakenEvent>()
  readonly #sql: Sql
  readonly #schema: string
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

  /** @see PostgresStore.transaction */
  async transaction<Result>(
    delivery: Delivery | undefined,
    handle: (transaction: TransactionOf<Sql>) => PromiseLike<Result> | Result
  ): Promise<Result> {
    const run = this.runs.of(delivery)
    const transaction = this.#withConnection(() => this.#committed(run, handle))
    run.transaction = transaction
    try {
      return await transaction
    } catch (error) {
      run.transaction = undefined
      throw error
    }
  }

  async #committed<Result>(
    run: TransactionalRun<TakenEvent>,
    handle: (transaction: TransactionOf<Sql>) => PromiseLike<Result> | Result
  ): Promise<Result> {
    const result = await databaseOf(this.#sql).transaction(async (connection, transaction) => {
      await this.#acknowledge(connection, run)
      return await handle(transaction as TransactionOf<Sql>)
    })
    run.isCommitted = true
    run.event.isAcknowledged = true
    return result
  }

  /** Waits until a connection of the pool is free for it. */
  async #withConnection<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#open >= this.#most) await new Promise<void>((resolve) => this.#waiting.push(resolve))
    else this.#open++
    try {
      return await work()
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#open--
      else next()
    }
  }

  /** @see PublishingTransaction.acknowledge */
  async acknowledge(transaction: TransactionSql, delivery: Delivery | undefined): Promise<void> {
    const run = this.runs.of(delivery)
    await this.#acknowledge(transactionOf(transaction), run)
    // Whether that transaction is committed, the database knows.
    run.event.isAcknowledged = true
  }

  async #acknowledge(connection: Connection, run: TransactionalRun<TakenEvent>): Promise<void> {
    run.isGone = !(await acknowledgeEvent(connection, this.#schema, run.event.row))
    if (run.isGone)
      throw new Error(
        'The event is acknowledged already, or another process has it; the transaction is rolled back'
      )
  }
}

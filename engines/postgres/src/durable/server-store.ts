/** The durable handlers of a service over PostgreSQL. */
import type { Consumer, ConsumerInit, ServerStore } from '@elysia-microservices/engine'
import type { DatabaseSql } from '@elysia-microservices/outbox/database'
import type { ServerContext } from '@elysia-microservices/transport/kit'
import type { PostgresConnection } from '../connection/postgres-connection.ts'
import type { CheckedOptions } from '../options/options.ts'
import { PostgresConsumer } from './consumer.ts'
import type { Transactions } from './transactions.ts'
import { Turns } from './turns.ts'

/** Makes the consumers of the handlers, which share the turns of their process. */
export class PostgresServerStore implements ServerStore<PostgresConnection> {
  readonly #options: CheckedOptions
  readonly #turns: Turns
  readonly #transactions: Transactions<DatabaseSql>

  constructor(options: CheckedOptions, transactions: Transactions<DatabaseSql>, { logger }: ServerContext) {
    this.#options = options
    this.#transactions = transactions
    this.#turns = new Turns(options, logger)
  }

  consumer(init: ConsumerInit): Consumer<PostgresConnection> {
    return new PostgresConsumer(init, this.#options, this.#turns, this.#transactions)
  }

  async attach(connection: PostgresConnection): Promise<void> {
    this.#turns.attach(connection)
  }

  restored(): void {
    this.#turns.restored()
  }

  detach(): void {}

  close(): Promise<void> {
    return this.#turns.end()
  }
}

/** The durable handlers of a service over a file. */
import type { Consumer, ConsumerInit, ServerStore } from '@elysia-microservices/engine'
import type { SqliteConnection } from '../connection/files.ts'
import type { CheckedOptions } from '../options/options.ts'
import { SqliteConsumer } from './consumer.ts'
import type { Transactions } from './transactions.ts'

/** Makes the consumers of the handlers. The file is open as long as the process wants it: it is never lost. */
export class SqliteServerStore implements ServerStore<SqliteConnection> {
  readonly #options: CheckedOptions
  readonly #transactions: Transactions

  constructor(options: CheckedOptions, transactions: Transactions) {
    this.#options = options
    this.#transactions = transactions
  }

  consumer(init: ConsumerInit): Consumer<SqliteConnection> {
    return new SqliteConsumer(init, this.#options, this.#transactions)
  }

  async attach(): Promise<void> {}

  restored(): void {}

  detach(): void {}

  close(): void {}
}

/** The durable handlers of a service over PostgreSQL. */
import type { Consumer, ConsumerInit, ServerStore } from '@elysia-microservices/engine'
import type { ServerContext } from '@elysia-microservices/transport/kit'
import type { PostgresConnection } from '../connection/postgres-connection.ts'
import type { CheckedOptions } from '../options/options.ts'
import { PostgresConsumer } from './consumer.ts'
import { Turns } from './turns.ts'

/** Makes the consumers of the handlers, which share the turns of their process. */
export class PostgresServerStore implements ServerStore<PostgresConnection> {
  readonly #options: CheckedOptions
  readonly #turns: Turns

  constructor(options: CheckedOptions, { logger }: ServerContext) {
    this.#options = options
    this.#turns = new Turns(options, logger)
  }

  consumer(init: ConsumerInit): Consumer<PostgresConnection> {
    return new PostgresConsumer(init, this.#options, this.#turns)
  }

  async attach(connection: PostgresConnection): Promise<void> {
    this.#turns.attach(connection)
  }

  restored(): void {
    this.#turns.restored()
  }

  detach(): void {}

  close(): void {
    void this.#turns.end()
  }
}

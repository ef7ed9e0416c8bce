/** The durable handlers of a service over Redis Streams. */
import type { Consumer, ConsumerInit, ServerStore } from '@elysia-microservices/engine'
import type { ServerContext } from '@elysia-microservices/transport/kit'
import type { RedisConnection } from '../connection/redis-connection.ts'
import type { CheckedOptions } from '../options/options.ts'
import { RedisConsumer } from './consumer.ts'
import { readableError } from './errors.ts'
import { Groups } from './groups.ts'

/** Creates the consumers of the handlers. */
export class RedisServerStore implements ServerStore<RedisConnection> {
  readonly #options: CheckedOptions
  readonly #context: ServerContext
  #groups: Groups | undefined

  constructor(options: CheckedOptions, context: ServerContext) {
    this.#options = options
    this.#context = context
  }

  consumer(init: ConsumerInit): Consumer<RedisConnection> {
    return new RedisConsumer({
      ...init,
      storage: this.#options.durable,
      groups: () => this.#groups as Groups
    })
  }

  async attach(connection: RedisConnection): Promise<void> {
    this.#groups = new Groups(connection, this.#options.durable, this.#context.logger)
    try {
      await this.#groups.check()
    } catch (error) {
      throw readableError(error, 'durable events')
    }
  }

  restored(): void {
    // The server may have been restarted with a maxmemory-policy that evicts events.
    this.#groups?.check().catch((error: Error) => {
      if (error.name === 'OptionError') this.#context.logger.error(error.message)
    })
  }

  detach(): void {
    this.#groups = undefined
  }

  close(): void {}
}

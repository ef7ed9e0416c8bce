/** The durable handlers of a service, as Redis Streams have them. */
import type { Consumer, ServerStore } from '@elysia-microservices/transport/engine'
import type { Dispatcher, DurableRoute, ServerContext } from '@elysia-microservices/transport/kit'
import type { RedisConnection } from '../connection/redis-connection.ts'
import type { CheckedOptions } from '../options/options.ts'
import { RedisConsumer } from './consumer.ts'
import { readableError } from './errors.ts'
import { Groups } from './groups.ts'

/** Makes consumers. */
export class RedisServerStore implements ServerStore<RedisConnection> {
  readonly #dispatcher: Dispatcher
  readonly #options: CheckedOptions
  readonly #context: ServerContext
  #groups: Groups | undefined

  constructor(dispatcher: Dispatcher, options: CheckedOptions, context: ServerContext) {
    this.#dispatcher = dispatcher
    this.#options = options
    this.#context = context
  }

  consumer(route: DurableRoute, pattern: string, group: string): Consumer<RedisConnection> {
    return new RedisConsumer({
      dispatcher: this.#dispatcher,
      route,
      pattern,
      group,
      storage: this.#options.durable,
      groups: () => this.#groups as Groups,
      logger: this.#context.logger
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
    // What was started with another policy may throw events away.
    this.#groups?.check().catch((error: Error) => {
      if (error.name === 'OptionError') this.#context.logger.error(error.message)
    })
  }

  detach(): void {
    this.#groups = undefined
  }

  close(): void {}
}

/** The durable handlers of a service over Redis Streams. */
import { type Consumer, type ConsumerInit, newSecret, type ServerStore } from '@elysia-microservices/engine'
import type { ServerContext } from '@elysia-microservices/transport/kit'
import type { RedisConnection } from '../connection/redis-connection.ts'
import type { CheckedOptions } from '../options/options.ts'
import { RedisConsumer } from './consumer.ts'
import { readableError } from './errors.ts'
import { Groups } from './groups.ts'
import { type HandlerOfService, LeftBehind } from './left-behind.ts'
import { Rounds } from './rounds.ts'

/** Creates the consumers of the handlers. */
export class RedisServerStore implements ServerStore<RedisConnection> {
  readonly #options: CheckedOptions
  readonly #context: ServerContext
  readonly #process = newSecret()
  readonly #rounds = new Rounds(this.#process)
  readonly #handlers: HandlerOfService[] = []
  #hasSaidWhatIsLeft = false
  #groups: Groups | undefined

  constructor(options: CheckedOptions, context: ServerContext) {
    this.#options = options
    this.#context = context
  }

  consumer(init: ConsumerInit): Consumer<RedisConnection> {
    this.#handlers.push({ group: init.group, pattern: init.pattern })
    return new RedisConsumer({
      ...init,
      storage: this.#options.durable,
      process: this.#process,
      rounds: this.#rounds,
      groups: () => this.#groups as Groups
    })
  }

  async attach(connection: RedisConnection): Promise<void> {
    this.#groups = new Groups(connection, this.#options.durable, this.#context.logger)
    this.#rounds.connection = connection
    try {
      await this.#groups.check()
    } catch (error) {
      throw readableError(error, 'durable events')
    }
    if (this.#hasSaidWhatIsLeft) return
    this.#hasSaidWhatIsLeft = true
    // Nobody waits for it: it only explains what is stored.
    new LeftBehind(connection.store, this.#context.logger).sayOfGroups(this.#handlers).catch(() => {})
  }

  restored(): void {
    // The server may have been restarted with a maxmemory-policy that evicts events.
    this.#groups?.check().catch((error: Error) => {
      if (error.name === 'OptionError') this.#context.logger.error(error.message)
    })
  }

  detach(): void {
    this.#groups = undefined
    this.#rounds.connection = undefined
  }

  close(): void {
    this.#rounds.close()
  }
}

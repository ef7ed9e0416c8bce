/** The durable handlers of a service, as Kafka has them. */
import type { Consumer, ServerStore } from '@elysia-microservices/transport/engine'
import {
  type Dispatcher,
  type DurableRoute,
  quietLog,
  type ServerContext
} from '@elysia-microservices/transport/kit'
import type { KafkaConnection } from '../connection/kafka-connection.ts'
import { KafkaConsumer } from './consumer.ts'
import { PausedGroups } from './groups.ts'

/** Makes consumers. */
export class KafkaServerStore implements ServerStore<KafkaConnection> {
  readonly #dispatcher: Dispatcher
  readonly #context: ServerContext
  readonly #consumers: KafkaConsumer[] = []
  #connection: KafkaConnection | undefined
  #paused: PausedGroups | undefined

  constructor(dispatcher: Dispatcher, context: ServerContext) {
    this.#dispatcher = dispatcher
    this.#context = context
  }

  consumer(route: DurableRoute, pattern: string, group: string): Consumer<KafkaConnection> {
    const consumer = new KafkaConsumer({
      dispatcher: this.#dispatcher,
      route,
      pattern,
      group,
      isPaused: () => this.#paused?.has(group) === true,
      logger: this.#context.logger
    })
    this.#consumers.push(consumer)
    return consumer
  }

  async attach(connection: KafkaConnection): Promise<void> {
    if (this.#connection === connection) return
    const { logger } = this.#context
    const changed = (group: string) =>
      this.#consumers.filter((consumer) => consumer.group === group).flatMap((consumer) => consumer.paused())
    this.#paused = new PausedGroups(connection, changed, (error) =>
      quietLog(logger).error('paused', 'It cannot be read which groups are paused', error)
    )
    await this.#paused.start()
    this.#connection = connection
  }

  restored(): void {
    this.#paused?.restored()
  }

  detach(): void {
    this.#connection = undefined
    void this.#paused?.stop()
  }

  close(): void {
    void this.#paused?.stop()
  }
}

/** The durable handlers of a service over Kafka. */
import type { Consumer, ConsumerInit, ServerStore } from '@elysia-microservices/engine'
import {
  type Clock,
  quietLog,
  type ServerContext,
  shown,
  systemClock
} from '@elysia-microservices/transport/kit'
import type { KafkaConnection } from '../connection/kafka-connection.ts'
import { KafkaConsumer } from './consumer.ts'
import { PausedGroups } from './groups.ts'
import { type Handled, readName, sayWhatIsLeftBehind } from './left-behind.ts'
import { NotedPositions } from './noted.ts'

/** Creates the consumers of the handlers. */
export class KafkaServerStore implements ServerStore<KafkaConnection> {
  readonly #context: ServerContext
  readonly #clock: Clock
  readonly #consumers: KafkaConsumer[] = []
  readonly #noted = new NotedPositions()
  #connection: KafkaConnection | undefined
  #paused: PausedGroups | undefined

  constructor(context: ServerContext, clock = systemClock) {
    this.#context = context
    this.#clock = clock
  }

  consumer(init: ConsumerInit): Consumer<KafkaConnection> {
    const consumer = new KafkaConsumer({
      ...init,
      isPaused: () => this.#paused?.has(init.group) === true,
      noted: this.#noted,
      clock: this.#clock
    })
    this.#consumers.push(consumer)
    return consumer
  }

  async attach(connection: KafkaConnection): Promise<void> {
    if (this.#connection === connection) return
    const { logger } = this.#context
    const changed = (group: string) =>
      this.#consumers.filter((consumer) => consumer.group === group).flatMap((consumer) => consumer.paused())
    this.#paused = new PausedGroups(connection, this.#noted, changed, (error) =>
      quietLog(logger).error('paused', 'The topic with the paused groups cannot be read from Kafka', error)
    )
    await this.#paused.start()
    this.#connection = connection
    await this.#sayWhatIsNotHandled(connection)
  }

  /** Logs the events of this service's groups for which it has no handler any more. */
  async #sayWhatIsNotHandled({ cluster }: KafkaConnection): Promise<void> {
    const groups = new Set(this.#consumers.map(({ group }) => group))
    const handled = new Set(this.#consumers.map(({ name }) => name))
    const left = this.#noted.names.filter((name) => !handled.has(name) && groups.has(readName(name).group))
    const line = ({ group, pattern }: Handled, events: bigint) =>
      `Up to ${events} events '${shown(pattern)}' wait for the group '${group}', and neither this service nor another process has a handler for them.`
    await sayWhatIsLeftBehind(cluster, left, line, this.#context.logger)
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

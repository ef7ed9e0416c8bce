/** The durable handlers of a service over RabbitMQ. */
import type { Consumer, ConsumerInit, ServerStore } from '@elysia-microservices/engine'
import { type Clock, type Logger, systemClock } from '@elysia-microservices/transport/kit'
import { ownQueue } from '../connection/inboxes.ts'
import type { RabbitConnection } from '../connection/rabbit-connection.ts'
import { GROUPS, isInbox, NEWS, queueOfPaused } from '../words/names.ts'
import { RabbitConsumer } from './consumer.ts'
import { Copies } from './copies.ts'
import { type KnownHandler, sayWhatIsLeftBehind } from './left-behind.ts'

/**
 * Milliseconds until queues without consumers are looked for: services that start together with this one have begun to
 * consume by then.
 */
const OTHERS_START = 10_000
/** Milliseconds between requests whether groups are paused, in case that a message about it was lost. */
const CHECK = 60_000

/** Creates the consumers of the handlers. */
export class RabbitServerStore implements ServerStore<RabbitConnection> {
  readonly #logger: Logger
  readonly #clock: Clock
  readonly #consumers: RabbitConsumer[] = []
  readonly #handlers: KnownHandler[] = []
  #lookingBehind: ReturnType<typeof setTimeout> | undefined
  #endChecks = () => {}
  #connection: RabbitConnection | undefined
  #copies: Copies | undefined

  constructor(logger: Logger, clock: Clock = systemClock) {
    this.#logger = logger
    this.#clock = clock
  }

  consumer(init: ConsumerInit): Consumer<RabbitConnection> {
    const consumer = new RabbitConsumer({ ...init, copies: () => this.#copies as Copies, clock: this.#clock })
    this.#consumers.push(consumer)
    this.#handlers.push({ group: init.group, pattern: init.pattern })
    return consumer
  }

  async attach(connection: RabbitConnection): Promise<void> {
    if (this.#connection === connection) return
    this.#copies = await Copies.open(connection.link, this.#logger)
    await connection.link.open(async (channel) => {
      const queue = await ownQueue(channel)
      await channel.bindQueue(queue, GROUPS, NEWS)
      await channel.consume(
        queue,
        (message) => void this.#changed(message?.content, message?.properties),
        true
      )
    })
    this.#connection = connection
    this.#stop()
    this.#checkLater(connection)
    const look = () => sayWhatIsLeftBehind(connection.link, this.#handlers, this.#logger).catch(() => {})
    this.#lookingBehind = setTimeout(look, OTHERS_START)
    this.#lookingBehind.unref?.()
  }

  /** Handles the message that a group was paused or resumed. Its sender waits for the answers of all members. */
  async #changed(content: Buffer | undefined, properties?: { readonly messageId?: unknown }): Promise<void> {
    const group = content?.toString()
    const reply = properties?.messageId
    for (const consumer of this.#consumers) {
      if (consumer.group !== group) continue
      // Twice, because a request that is under way may have read the state before the change.
      await consumer.look()
      await consumer.look()
      if (typeof reply === 'string' && isInbox(reply)) this.#connection?.publish(reply, 'done')
    }
  }

  restored(): void {}

  #checkLater(connection: RabbitConnection): void {
    this.#endChecks = this.#clock.after(CHECK, () => {
      this.#checkLater(connection)
      // While the server is lost, there is nothing to find.
      void this.#checkPauses(connection).catch(() => {})
    })
  }

  /**
   * Looks whether groups were paused or resumed without a message to this process: one request for each group, however
   * many handlers it has.
   */
  async #checkPauses({ link }: RabbitConnection): Promise<void> {
    const groups = new Map(this.#consumers.map((consumer) => [consumer.group, consumer.isPaused]))
    const changed = await link.aside(async (channel) => {
      const found = new Set<string>()
      for (const [group, isPaused] of groups) {
        const { messageCount } = await channel.checkQueue(queueOfPaused(group))
        if (messageCount > 0 !== isPaused) found.add(group)
      }
      return found
    })
    for (const consumer of this.#consumers) if (changed.has(consumer.group)) void consumer.look()
  }

  detach(): void {
    this.#connection = undefined
    this.#stop()
  }

  close(): void {
    this.#stop()
  }

  #stop(): void {
    clearTimeout(this.#lookingBehind)
    this.#endChecks()
  }
}

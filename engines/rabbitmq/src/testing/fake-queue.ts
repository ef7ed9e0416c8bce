/** A queue of the fake RabbitMQ: which message goes to which consumer, and where messages that are given back go. */
import { isDeepStrictEqual } from 'node:util'
import type { Clock } from '@elysia-microservices/transport/kit'
import type { QueueSettings, Received, ReceivedProperties } from '../driver.ts'

export interface Stored {
  readonly content: Buffer
  readonly exchange: string
  readonly routingKey: string
  readonly properties: ReceivedProperties & {
    readonly expiration?: string | undefined
    readonly persistent?: boolean | undefined
  }
  /** How often it was delivered and given back. */
  deliveries: number
  /** When it is dropped; `undefined`: never. */
  readonly expiresAt: number | undefined
}

export interface Consuming {
  readonly tag: string
  readonly noAck: boolean
  /** Most unacknowledged messages. */
  readonly limit: number
  unacknowledged: number
  readonly channel: {
    /** Sends a message to the client. */
    deliver(queue: FakeQueue, message: Stored, consumer: Consuming): void
    /** Tells the client that the queue was deleted. */
    canceled(consumer: Consuming): void
  }
  readonly receive: (message: Received | null) => void
}

export class FakeQueue {
  readonly name: string
  readonly settings: QueueSettings
  /** The connection that alone may use the queue; `undefined`: all may. */
  readonly owner: object | undefined
  readonly #clock: Clock
  messages: Stored[] = []
  consumers: Consuming[] = []
  /** Counts deliveries, so that consumers take turns. */
  #turn = 0

  constructor(name: string, settings: QueueSettings, owner: object | undefined, clock: Clock) {
    this.name = name
    this.settings = settings
    this.owner = owner
    this.#clock = clock
  }

  argument(name: string): unknown {
    return (this.settings.arguments as Readonly<Record<string, unknown>> | undefined)?.[name]
  }

  get isQuorum(): boolean {
    return this.argument('x-queue-type') === 'quorum'
  }

  get isSingle(): boolean {
    return this.argument('x-single-active-consumer') === true
  }

  hasSettings(given: QueueSettings): boolean {
    const whole = ({ durable = true, exclusive = false, autoDelete = false, ...more }: QueueSettings) => ({
      durable,
      exclusive,
      autoDelete,
      ...more
    })
    return isDeepStrictEqual(whole(given), whole(this.settings))
  }

  /** Delivers as many messages as the consumers may have. */
  deliver(): void {
    const now = this.#clock.now()
    this.messages = this.messages.filter(({ expiresAt }) => expiresAt === undefined || expiresAt > now)
    while (this.messages.length > 0) {
      const active = this.isSingle ? this.consumers.slice(0, 1) : this.consumers
      const free = active.filter(({ unacknowledged, limit }) => unacknowledged < limit)
      const consumer = free[this.#turn++ % Math.max(1, free.length)]
      if (consumer === undefined) return
      if (!consumer.noAck) consumer.unacknowledged++
      consumer.channel.deliver(this, this.messages.shift() as Stored, consumer)
    }
  }

  /**
   * Takes messages back, the oldest first; they come to the front in their order, in a quorum queue behind those that
   * came back before.
   */
  takeBack(messages: readonly Stored[]): void {
    for (const message of messages) message.deliveries++
    const fresh = this.isQuorum ? this.messages.findIndex(({ deliveries }) => deliveries === 0) : 0
    this.messages.splice(fresh === -1 ? this.messages.length : fresh, 0, ...messages)
  }
}

/**
 * The driver of RabbitMQ that this package wants, in the words of AMQP 0.9.1. `connection/amqplib.ts` has it from
 * amqplib, and `testing/fake-server.ts` from a server inside the process, so that everything above runs without a
 * server; `testing/driver-cases.ts` proves that both keep the same promises.
 */

/** The properties of a message to be published, and how it is published. */
export interface Properties {
  readonly headers?: Readonly<Record<string, unknown>>
  readonly messageId?: string
  readonly correlationId?: string
  readonly replyTo?: string
  readonly type?: string
  readonly contentType?: string
  readonly priority?: number
  /** Seconds since 1970. */
  readonly timestamp?: number
  /** Milliseconds after which the message is dropped, as a text. */
  readonly expiration?: string
  /** Whether the message outlives a restart of the server, if its queue does. */
  readonly persistent?: boolean
  /** Whether the message comes back if no queue takes it. */
  readonly mandatory?: boolean
}

/** The properties of a message that has arrived. Anybody may have published it, so nothing is sure about them. */
export interface ReceivedProperties {
  readonly headers?: unknown
  readonly messageId?: unknown
  readonly correlationId?: unknown
  readonly replyTo?: unknown
  readonly type?: unknown
  readonly priority?: unknown
  readonly timestamp?: unknown
}

/** A message that has come back, because no queue has taken it. */
export interface Returned {
  readonly content: Buffer
  readonly fields: { readonly routingKey: string }
  readonly properties: ReceivedProperties
}

/** A message that has arrived. */
export interface Received extends Returned {
  readonly fields: {
    readonly routingKey: string
    /** The number of the delivery on its channel. */
    readonly deliveryTag: number
    readonly redelivered: boolean
  }
}

/** How a queue is declared. */
export interface QueueSettings {
  readonly durable?: boolean
  readonly exclusive?: boolean
  readonly autoDelete?: boolean
  readonly expires?: number
  readonly maxLength?: number
  readonly maxPriority?: number
  readonly messageTtl?: number
  readonly deadLetterExchange?: string
  readonly deadLetterRoutingKey?: string
  readonly arguments?: unknown
}

export interface QueueState {
  /** Messages that wait, without those that were delivered and not acknowledged. */
  readonly messageCount: number
  readonly consumerCount: number
}

/** The name of the error for everything that is asked of a channel that is closed. */
export const CHANNEL_CLOSED = 'IllegalOperationError'

/**
 * A channel, whose commands the server handles in order. A command that the server refuses closes the channel: the
 * error has the code of AMQP in its message, such as 404 or `NOT_FOUND`.
 */
export interface DriverChannel {
  /** Why the channel was closed; `undefined`: it is open, or was closed here. */
  readonly failure: Error | undefined
  /** Calls a function for each message that comes back. A message comes back before it is confirmed. */
  whenReturned(told: (message: Returned) => void): void
  /** Calls a function when the channel is closed, for whatever reason. */
  whenClosed(told: () => void): void
  /** Creates an exchange that is missing; it is durable. */
  declareExchange(name: string, type: 'topic' | 'direct' | 'fanout'): Promise<unknown>
  /** @throws (404) there is no such exchange */
  checkExchange(name: string): Promise<unknown>
  /** Leads the messages of one exchange to another one. */
  bindExchange(to: string, from: string, key: string): Promise<unknown>
  /** Creates a queue that is missing. @throws (406) there is one with other settings */
  declareQueue(name: string, settings: QueueSettings): Promise<QueueState>
  /** @throws (404) there is no such queue */
  checkQueue(name: string): Promise<QueueState>
  bindQueue(queue: string, exchange: string, key: string): Promise<unknown>
  unbindQueue(queue: string, exchange: string, key: string): Promise<unknown>
  purgeQueue(name: string): Promise<unknown>
  deleteQueue(name: string): Promise<unknown>
  /**
   * Publishes to an exchange; `''` leads to each queue by its name.
   * @param told is called, on a channel with confirmations, once all queues of the message have stored it: with `null`,
   * or with an error if one has refused it or the channel was closed before
   * @throws the channel is closed (`CHANNEL_CLOSED`)
   */
  publish(
    exchange: string,
    key: string,
    content: Buffer,
    properties: Properties,
    told?: (error: unknown) => void
  ): void
  /** Resolves when everything is confirmed that was published on the channel; at once without confirmations. */
  confirmed(): Promise<unknown>
  /** How many unacknowledged messages each later consumer of the channel may have; 0: any number. */
  prefetch(count: number): Promise<unknown>
  /**
   * Receives from a queue.
   * @param receive gets `null` when the queue was deleted
   * @param noAck whether the server forgets a message as soon as it was sent
   * @returns the tag by which the consumer is canceled
   */
  consume(queue: string, receive: (message: Received | null) => void, noAck: boolean): Promise<string>
  /** Ends a consumer. Resolves when everything has arrived that was sent to it. */
  cancel(consumerTag: string): Promise<unknown>
  /** Takes one message; `undefined`: the queue is empty. */
  get(queue: string): Promise<Received | undefined>
  /** @param isAllUpTo whether all earlier deliveries of the channel are acknowledged, too @throws the channel is closed */
  acknowledge(deliveryTag: number, isAllUpTo?: boolean): void
  /** Lets the server deliver a message again, at its old place in the queue. @throws the channel is closed */
  giveBack(deliveryTag: number): void
  /** Lets the server drop a message, or move it by the settings of its queue. @throws the channel is closed */
  reject(deliveryTag: number): void
  /**
   * Closes the channel; unacknowledged messages go back to their queues.
   * @param because the failure of the channel from now on
   */
  close(because?: Error): Promise<unknown>
}

/** Gets what happens to a connection. */
export interface DriverListener {
  /** Ends an attempt to connect, with its socket; a connection that stands stays. Default: never. */
  readonly signal?: AbortSignal | undefined
  /** The connection has ended, unless `close` was called; its channels were closed before. */
  lost(): void
  /** The server takes no messages at the moment, for this reason; `undefined`: it takes messages again. */
  halted(reason: string | undefined): void
}

/** One connection to a server. It never reconnects. */
export interface DriverConnection {
  /** The version that the server states. */
  readonly version: unknown
  /** @param isConfirmed whether the server confirms what is published on the channel */
  openChannel(isConfirmed: boolean): Promise<DriverChannel>
  /** Ends the connection. Resolves when it has ended, after a second at the latest. */
  close(): Promise<void>
}

export interface ConnectOptions {
  readonly tls: object | undefined
  /** Milliseconds within which the connection must stand. */
  readonly connectTimeout: number
  /** Milliseconds within which the server must give a sign of life afterwards. */
  readonly heartbeat: number
  /** The name of the connection in the server's tools. */
  readonly name: string | undefined
}

/** Connects to servers. */
export interface Driver {
  /**
   * Connects once.
   * @throws the server cannot be reached, or refuses: then the message has the code of AMQP, such as `ACCESS_REFUSED`
   */
  connect(url: string, options: ConnectOptions, listener: DriverListener): Promise<DriverConnection>
}

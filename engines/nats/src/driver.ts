/**
 * The driver of NATS that this package wants: subjects, and the streams and consumers of JetStream. `connection/nats-io.ts`
 * has it from NATS's own driver, and `testing/fake-server.ts` from a server inside the process, so that everything above
 * runs without a server; `testing/driver-cases.ts` proves that both keep the same promises. Headers, errors and the
 * configuration of streams and consumers are those of NATS's driver, which are plain values.
 *
 * Deliveries of JetStream are messages, and so are requests for them (`durable/pull.ts`) and their acknowledgements
 * (`durable/acknowledgements.ts`).
 */
import type { ConsumerConfig, ConsumerInfo, StoredMsg, StreamConfig, StreamInfo } from '@nats-io/jetstream'
import type { MsgHdrs } from '@nats-io/transport-node'
import type { CheckedOptions } from './options/options.ts'

/** A message that has arrived. */
export interface Message {
  readonly subject: string
  readonly reply?: string | undefined
  /** A new view at each access. */
  readonly data: Uint8Array
  /** @throws another program has written headers that cannot be read */
  readonly headers?: MsgHdrs | undefined
}

/** Is called with each message of a subscription, or with an error, such as a missing right. */
export type Receive = (error: Error | null, message: Message) => void

export interface DriverSubscription {
  /** Ends the subscription. Resolves when all that the server had sent for it has arrived. */
  drain(): Promise<void>
  unsubscribe(): void
}

/** Gets what happens to a connection. */
export interface DriverListener {
  /** Ends an attempt to connect, with its socket; a connection that stands stays. Default: never. */
  readonly signal?: AbortSignal | undefined
  lost(): void
  /** There is a server again, and all subscriptions are restored. */
  restored(): void
  /** The server does not let this user publish to a subject, or subscribe to it. */
  refused(subject: string, operation: 'publish' | 'listen', error: Error): void
  /** The connection is closed, and does not reconnect. @param error `undefined`: `close` was called */
  ended(error: Error | undefined): void
}

/** A connection of one client or service to its server. It reconnects until it is closed. */
export interface DriverConnection {
  /** The address of the current server. */
  readonly server: string
  /** The bytes that the server accepts in a message, with its headers. */
  readonly maxPayload: number
  /** @throws the message is too large, or the connection is closed */
  publish(subject: string, bytes: Uint8Array, reply: string | undefined, headers: MsgHdrs | undefined): void
  /**
   * @param queue the members of a queue share the messages @param receive must not throw
   */
  subscribe(subject: string, queue: string | undefined, receive: Receive): DriverSubscription
  /** Resolves when the server has had all that was published before. Rejects if it is lost. */
  flush(): Promise<void>
  close(): Promise<void>
  /** @throws JetStream is off, or does not answer */
  jetStream(): Promise<JetStream>
}

/**
 * The streams and consumers of the server. All methods reject with a `JetStreamApiError` if JetStream refuses (its code is
 * 404 if there is no such stream, consumer or message), and with another error if it does not answer.
 */
export interface JetStream {
  /** @param subject the subjects whose messages `state.subjects` counts; by default none are counted */
  stream(name: string, subject?: string): Promise<StreamState>
  /** All streams; with a subject, only those that store some of its messages. */
  streams(subject?: string): AsyncIterable<StreamInfo>
  addStream(config: Partial<StreamConfig> & { readonly name: string }): Promise<unknown>
  updateStream(name: string, change: Partial<StreamConfig>): Promise<unknown>
  /** A stored message, or the first one from this number on whose subject matches; `null`: there is none. */
  message(
    stream: string,
    query: { readonly seq: number; readonly next_by_subj?: string }
  ): Promise<StoredMsg | null>
  /** @returns whether the message is deleted */
  deleteMessage(stream: string, sequence: number): Promise<boolean>
  consumer(stream: string, name: string): Promise<ConsumerInfo>
  consumers(stream: string): AsyncIterable<ConsumerInfo>
  addConsumer(stream: string, config: Partial<ConsumerConfig>): Promise<ConsumerInfo>
  updateConsumer(stream: string, name: string, config: Partial<ConsumerConfig>): Promise<unknown>
  /** @returns whether the consumer is deleted */
  deleteConsumer(stream: string, name: string): Promise<boolean>
  /** @param until the end of the pause; `undefined`: the consumer is resumed */
  pause(stream: string, name: string, until: Date | undefined): Promise<unknown>
  /** Lets the server serve another process of a priority group at once. */
  unpin(stream: string, name: string, group: string): Promise<void>
}

/** A stream at the time of the answer. */
export interface StreamState extends StreamInfo {
  /** The server's time as text. */
  readonly ts?: string
}

/** Connects to servers. */
export interface Driver {
  /** Connects once. @throws no server can be reached, or it does not accept the credentials */
  connect(options: CheckedOptions['connection'], listener: DriverListener): Promise<DriverConnection>
}

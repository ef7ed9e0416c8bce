/**
 * The value of `@Ctx()`, in services of this library and in a Nest application: one message, with the methods of Nest's
 * contexts.
 */
import type { AnswerSet } from '../answer-headers.ts'
import type { MessageHeaders } from '../headers.ts'
import { consoleLogger, type Logger } from '../logger.ts'
import type { IncomingMessage, Peer } from '../message.ts'
import { ChannelRef, ConsumerRef, ProducerRef } from './driver-refs.ts'
import { type MqttPacket, messageInNest, packetInNest, placeInNest, type RmqMessage } from './views.ts'

/** The fields of a message that a context reads. */
type Viewed = Pick<
  IncomingMessage,
  'headers' | 'kind' | 'metadata' | 'pattern' | 'peer' | 'remaining' | 'set' | 'signal' | 'timeout'
>

/** The context of one message: its facts, and the methods that Nest's contexts have on any transport. */
export interface MessageView<Message = IncomingMessage> {
  /** The message itself, as handlers of `elysia-microservices` get it. */
  readonly message: Message
  /** Headers that the caller has sent, in Nest by `setOnDispatchHook`; empty if there are none. */
  readonly headers: MessageHeaders
  /**
   * Aborts when nobody waits for the result any more: the caller has unsubscribed (RSocket), its deadline has passed
   * (RSocket), or its connection is lost. Never aborts for events.
   */
  readonly signal: AbortSignal
  /**
   * Milliseconds for which the caller waits, counted from sending the message; `undefined` if the caller did not tell.
   */
  readonly timeout: number | undefined
  /** Milliseconds left of `timeout`, 0 if that time has passed; `undefined` if the caller did not tell. */
  readonly remaining: number | undefined
  /** Whether the caller waits for an answer. */
  readonly kind: 'request' | 'event'
  /** Headers beside the answer, which the method sets: `context.set.headers['…'] = '…'`. Events have none. */
  readonly set: AnswerSet
  /** The pattern as the caller has written it; an object pattern as its JSON text. */
  getPattern(): string
  /** The metadata that the caller has sent with the data, unchanged; `undefined` if there is none. */
  getMetadata(): unknown
  /**
   * The other end of the connection over which the message arrived; `undefined` without a connection. Unlike in Nest it
   * is not a socket.
   */
  getSocketRef(): Peer | undefined
  /** The pattern of the message as text, under the name that Nest's `NatsContext` uses. */
  getSubject(): string
  /** The same as `getSubject`, under the name that Nest's `RedisContext` uses. */
  getChannel(): string
  /** The same as `getSubject`, under the name that Nest's `MqttContext` and `KafkaContext` use. */
  getTopic(): string
  /**
   * The headers by name. Over NATS, Nest returns a class of its driver; the Map has the same methods `get`, `has` and
   * `keys`.
   */
  getHeaders(): ReadonlyMap<string, string>
  /**
   * The fields of the message of Nest's `RmqContext` and `KafkaContext` that are known here: its headers, its priority,
   * its key, and the offset of a durable event.
   */
  getMessage(): RmqMessage
  /**
   * The channel of Nest's `RmqContext`: `ack`, `nack` and `reject` settle the message. Its other methods throw an
   * `OptionError`.
   */
  getChannelRef(): ChannelRef
  /** The partition of a durable event over Kafka; `undefined`: it is not known. */
  getPartition(): number | undefined
  /** The consumer of Nest's `KafkaContext`: `commitOffsets` does nothing, because the end of the handler commits. */
  getConsumer(): ConsumerRef
  /** The heartbeat of Nest's `KafkaContext`, which does nothing: the transport sends it by itself. */
  getHeartbeat(): () => Promise<void>
  /** The producer of Nest's `KafkaContext`, whose methods throw an `OptionError`. */
  getProducer(): ProducerRef
  /**
   * The fields of the packet of Nest's `MqttContext` that are known here: topic, user properties and the retain flag.
   */
  getPacket(): MqttPacket
  /** Returns peer, pattern and metadata. */
  getArgs(): [Peer | undefined, string, unknown]
  /** Returns one element of `getArgs`. */
  getArgByIndex(index: number): unknown
}

/** A class of contexts. */
export interface ContextClass<Instance extends object> {
  /** Makes the context of a message. @param logger says what cannot be honoured. Default: the console */
  new <Message extends Viewed = IncomingMessage>(
    message: Message,
    logger?: Logger
  ): Instance & MessageView<Message>
}

/**
 * Makes a class of contexts that extends a base class: Nest's own class, so that `instanceof` is true for it, or an
 * empty class. Methods of the same names replace those of the base class.
 */
export function contextOver<Instance extends object>(
  Base: new (args: [Peer | undefined, string, unknown]) => Instance
): ContextClass<Instance> {
  class MessageContext extends (Base as new (args: [Peer | undefined, string, unknown]) => object) {
    readonly message: Viewed & { readonly route?: string | undefined }
    readonly #logger: Logger

    constructor(message: Viewed, logger: Logger = consoleLogger) {
      // Without the metadata, which few handlers read: `getArgs` and `getMetadata` read it when they are called.
      super([message.peer, message.pattern, undefined])
      this.message = message
      this.#logger = logger
    }

    get headers(): MessageHeaders {
      return this.message.headers
    }

    get signal(): AbortSignal {
      return this.message.signal
    }

    get timeout(): number | undefined {
      return this.message.timeout
    }

    get remaining(): number | undefined {
      return this.message.remaining
    }

    get kind(): 'request' | 'event' {
      return this.message.kind
    }

    get set(): AnswerSet {
      return this.message.set
    }

    getPattern(): string {
      return this.message.pattern
    }

    getMetadata(): unknown {
      return this.message.metadata
    }

    getSocketRef(): Peer | undefined {
      return this.message.peer
    }

    getSubject(): string {
      return this.message.route ?? this.message.pattern
    }

    getChannel(): string {
      return this.getSubject()
    }

    getTopic(): string {
      return this.getSubject()
    }

    getHeaders(): ReadonlyMap<string, string> {
      return new Map(Object.entries(this.message.headers))
    }

    getMessage(): RmqMessage {
      return messageInNest(this.message)
    }

    getChannelRef(): ChannelRef {
      return new ChannelRef(this.message, this.#logger)
    }

    getPartition(): number | undefined {
      return placeInNest(this.message)?.partition
    }

    getConsumer(): ConsumerRef {
      return new ConsumerRef()
    }

    getHeartbeat(): () => Promise<void> {
      return async () => {}
    }

    getProducer(): ProducerRef {
      return new ProducerRef()
    }

    getPacket(): MqttPacket {
      return packetInNest(this.message, this.getSubject())
    }

    getArgs(): [Peer | undefined, string, unknown] {
      return [this.message.peer, this.message.pattern, this.message.metadata]
    }

    getArgByIndex(index: number): unknown {
      return this.getArgs()[index]
    }
  }
  return MessageContext as never
}

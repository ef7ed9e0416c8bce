/**
 * The value of `@Ctx()`, in one of our services and in a Nest application: one message, with the methods of Nest's
 * contexts.
 */
import type { Headers } from '../headers.ts'
import type { IncomingMessage, Peer } from '../message.ts'

/** The part of a message that contexts look at. */
type Viewed = Pick<
  IncomingMessage,
  'headers' | 'kind' | 'metadata' | 'pattern' | 'peer' | 'remaining' | 'signal' | 'timeout'
>

/** The context of one message: what it tells, and the methods that Nest's contexts of all transports have. */
export interface MessageView<Message = IncomingMessage> {
  /** The message itself, as handlers of `elysia-microservices` get it. */
  readonly message: Message
  /** Headers the caller sent, in Nest by `setOnDispatchHook`; empty if none. */
  readonly headers: Headers
  /**
   * Aborts when nobody waits for the result any more: the caller has unsubscribed (RSocket), its deadline has
   * passed (RSocket), its connection is gone. Never for events.
   */
  readonly signal: AbortSignal
  /** Milliseconds the caller said it would wait, counted from its sending; `undefined` if it did not say. */
  readonly timeout: number | undefined
  /** Milliseconds that are left of `timeout`, 0 if it has passed; `undefined` if the caller did not say. */
  readonly remaining: number | undefined
  /** Whether the caller waits for an answer. */
  readonly kind: 'request' | 'event'
  /** The pattern as the caller wrote it; an object pattern as its JSON text. */
  getPattern(): string
  /** The metadata that the caller sent beside the data, as it came; `undefined` if there is none. */
  getMetadata(): unknown
  /** The other end of the connection the message came on; `undefined` where there is none. Not a socket, as in Nest. */
  getSocketRef(): Peer | undefined
  /** The pattern as text by which the message came, as Nest's `NatsContext` has it. */
  getSubject(): string
  /** The same, as Nest's `RedisContext` has it. */
  getChannel(): string
  /** The same, as Nest's `MqttContext` and `KafkaContext` have it. */
  getTopic(): string
  /** The headers by name. Over NATS Nest gives its driver's class, whose `get`, `has` and `keys` are here, too. */
  getHeaders(): ReadonlyMap<string, string>
  /**
   * The part of the message of Nest's `RmqContext` and `KafkaContext` that is known here: its headers and its priority.
   */
  getMessage(): RmqMessage
  /** The part of the packet of Nest's `MqttContext` that is known here: its topic, its user properties and its flag. */
  getPacket(): MqttPacket
  /** Peer, pattern and metadata. */
  getArgs(): [Peer | undefined, string, unknown]
  /** One of `getArgs`. */
  getArgByIndex(index: number): unknown
}

/** A message of RabbitMQ, or of Kafka, as handlers of Nest look at it. */
export interface RmqMessage {
  /** Where Kafka's messages have them. */
  readonly headers: Headers
  readonly properties: {
    readonly headers: Headers
    /** 0 to 255; `undefined` if the caller gave none. */
    readonly priority: number | undefined
  }
}

/** A message of MQTT as handlers of Nest look at it. */
export interface MqttPacket {
  readonly topic: string
  /** The server had kept it when the service subscribed. */
  readonly retain: boolean
  readonly properties: { readonly userProperties: Headers }
}

/** A class of contexts. */
export interface ContextClass<Instance extends object> {
  /** The context of a message. */
  new <Message extends Viewed = IncomingMessage>(message: Message): Instance & MessageView<Message>
}

/**
 * A class of contexts on a base: Nest's own class, so that `instanceof` holds there, or none. It replaces what the base
 * has of these names.
 */
export function contextOver<Instance extends object>(
  Base: new (args: [Peer | undefined, string, unknown]) => Instance
): ContextClass<Instance> {
  class MessageContext extends (Base as new (args: [Peer | undefined, string, unknown]) => object) {
    readonly message: Viewed & { readonly route?: string | undefined }

    constructor(message: Viewed) {
      super([message.peer, message.pattern, message.metadata])
      this.message = message
    }

    get headers(): Headers {
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
      const { 'amqp-priority': priority, ...headers } = this.message.headers
      return {
        headers,
        properties: { headers, priority: priority === undefined ? undefined : Number(priority) }
      }
    }

    getPacket(): MqttPacket {
      const { 'mqtt-retain': retain, ...userProperties } = this.message.headers
      return { topic: this.getSubject(), retain: retain === 'true', properties: { userProperties } }
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

/**
 * The value of `@Ctx()`, in services of this library and in a Nest application: one message, with the methods of Nest's
 * contexts.
 */
import type { MessageHeaders } from '../headers.ts'
import type { IncomingMessage, Peer } from '../message.ts'

/** The fields of a message that a context reads. */
type Viewed = Pick<
  IncomingMessage,
  'headers' | 'kind' | 'metadata' | 'pattern' | 'peer' | 'remaining' | 'signal' | 'timeout'
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
   * The fields of the message of Nest's `RmqContext` and `KafkaContext` that are known here: its headers and its
   * priority.
   */
  getMessage(): RmqMessage
  /**
   * The fields of the packet of Nest's `MqttContext` that are known here: topic, user properties and the retain flag.
   */
  getPacket(): MqttPacket
  /** Returns peer, pattern and metadata. */
  getArgs(): [Peer | undefined, string, unknown]
  /** Returns one element of `getArgs`. */
  getArgByIndex(index: number): unknown
}

/** A message of RabbitMQ or Kafka, as handlers of Nest read it. */
export interface RmqMessage {
  /** The headers, in the field in which Kafka's messages have them. */
  readonly headers: MessageHeaders
  readonly properties: {
    readonly headers: MessageHeaders
    /** 0 to 255; `undefined` if the caller has set none. */
    readonly priority: number | undefined
  }
}

/** A message of MQTT, as handlers of Nest read it. */
export interface MqttPacket {
  readonly topic: string
  /** Whether the message is a retained one, which the server had stored before the service subscribed. */
  readonly retain: boolean
  readonly properties: { readonly userProperties: MessageHeaders }
}

/** A class of contexts. */
export interface ContextClass<Instance extends object> {
  /** Makes the context of a message. */
  new <Message extends Viewed = IncomingMessage>(message: Message): Instance & MessageView<Message>
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

    constructor(message: Viewed) {
      // Without the metadata, which few handlers read: `getArgs` and `getMetadata` read it when they are called.
      super([message.peer, message.pattern, undefined])
      this.message = message
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

/**
 * Nest's contexts hand out objects of the driver: the channel of RabbitMQ, the consumer and the producer of Kafka. Here
 * the transport settles messages, so these objects have only what can be honoured in its terms, or does no harm; all
 * else is an error that says what to do.
 */
import { OptionError } from '../errors/index.ts'
import type { Logger } from '../logger.ts'
import type { IncomingMessage, Settlement } from '../message.ts'
import { quietLog, shown } from '../quiet-log.ts'

/** The fields of a message that settling needs. */
type Settled = Pick<IncomingMessage, 'pattern'> & Partial<Pick<IncomingMessage, 'settle'>>

/** The messages to which the objects belong that handlers got from `getMessage()`. */
const messages = new WeakMap<object, Settled>()

/** Lets handlers settle a message by the object that stands for it in Nest. */
export function remember<Stand extends object>(stand: Stand, message: Settled): Stand {
  messages.set(stand, message)
  return stand
}

/** Methods of amqplib's channel that do not settle a message. */
const OF_CHANNELS =
  'assertExchange assertQueue bindExchange bindQueue cancel checkExchange checkQueue close consume deleteExchange deleteQueue get prefetch publish purgeQueue recover sendToQueue unbindExchange unbindQueue'

/** The channel that Nest's `RmqContext` gives: it settles messages. Unlike there, a message is settled once at most. */
export class ChannelRef {
  readonly #message: Settled
  readonly #logger: Logger

  constructor(message: Settled, logger: Logger) {
    this.#message = message
    this.#logger = logger
  }

  /**
   * The message is done, whatever its handler does afterwards. Without this call it is done when its handler ends.
   * @param message from `getMessage()`. Default: the message of this context
   */
  ack(message?: object): void {
    this.#settle('ack', 'done', message)
  }

  /**
   * The message is delivered again, or becomes a dead letter.
   * @param message from `getMessage()`. Default: the message of this context
   * @param _isAllUpTo has no effect: each message is settled by its own handler
   * @param requeue false: it becomes a dead letter. Default: true
   */
  nack(message?: object, _isAllUpTo?: boolean, requeue = true): void {
    this.#settle('nack', requeue ? 'again' : 'dead', message)
  }

  /**
   * As `nack`, for one message.
   * @param requeue false: it becomes a dead letter. Default: true
   */
  reject(message?: object, requeue = true): void {
    this.#settle('reject', requeue ? 'again' : 'dead', message)
  }

  /** The same as `ack()`: other messages are settled by their own handlers. */
  ackAll(): void {
    this.ack()
  }

  /** The same as `nack()`: other messages are settled by their own handlers. */
  nackAll(requeue = true): void {
    this.nack(undefined, true, requeue)
  }

  #settle(method: string, as: Settlement, given: object | undefined): void {
    const message = (given && messages.get(given)) ?? this.#message
    if (message.settle?.(as) ?? as === 'done') return
    quietLog(this.#logger).warn(
      'not settled',
      `getChannelRef().${method}() of '${shown(message.pattern)}' has no effect: the message was not stored, so nobody can deliver it again; over RabbitMQ give noAck: false, or make the event durable`
    )
  }
}

/** The consumer that Nest's `KafkaContext` gives. Positions are committed when handlers end. */
export class ConsumerRef {
  /** Does nothing: the position of a message is committed when its handler has ended. */
  async commitOffsets(_positions?: unknown): Promise<void> {}
}

/** The producer that Nest's `KafkaContext` gives: none of its methods works. */
export class ProducerRef {}

const refuse = (of: { readonly prototype: object }, getter: string, names: string, instead: string) => {
  for (const name of names.split(' '))
    Object.defineProperty(of.prototype, name, {
      value() {
        throw new OptionError(
          `${getter}().${name}`,
          `${getter}().${name}() is a method of the driver, which this transport does not hand out: ${instead}`
        )
      }
    })
}

const CALL = 'send with a client of this library'
refuse(ChannelRef, 'getChannelRef', OF_CHANNELS, `${CALL}, and declare what you need with your own amqplib`)
refuse(
  ConsumerRef,
  'getConsumer',
  'connect describeGroup disconnect on pause paused resume run seek stop subscribe',
  'client.group(…).pause() pauses a group of durable handlers, and durable.start says where a group begins'
)
refuse(
  ProducerRef,
  'getProducer',
  'connect disconnect events isIdempotent logger on send sendBatch transaction',
  CALL
)

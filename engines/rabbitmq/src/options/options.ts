/** The options of `rabbitmq()`. */
import type { SecureContextOptions } from 'node:tls'
import {
  CONNECT_TIMEOUT,
  EVENTS,
  HEARTBEAT,
  readAddress,
  readUrls,
  refuseForeign,
  TLS
} from '@elysia-microservices/engine'
import {
  type FromTable,
  mustBe,
  mustBeBoolean,
  mustBeText,
  mustBeWhole,
  mustHaveOnly,
  OptionError,
  type OptionTable,
  readTable,
  withoutUndefined
} from '@elysia-microservices/transport/kit'
import { adviceFor } from '@elysia-microservices/transport/nest'
import type { Options } from 'amqplib'
import { RABBITMQ_NEST_OPTIONS } from './nest-options.ts'

/**
 * How the queue shared with NestJS is declared, with NestJS's names. All its users must declare the queue in the same
 * way, or RabbitMQ refuses the second.
 */
export type QueueOptions = Pick<
  Options.AssertQueue,
  | 'arguments'
  | 'autoDelete'
  | 'deadLetterExchange'
  | 'deadLetterRoutingKey'
  | 'durable'
  | 'exclusive'
  | 'expires'
  | 'maxLength'
  | 'maxPriority'
  | 'messageTtl'
>

/** How messages are exchanged with NestJS, with NestJS's names. */
export interface RabbitmqNestOptions {
  /**
   * A queue shared with NestJS. A service receives the messages of this queue in addition to those that clients of
   * this library send it; a client sends all its calls to this queue. With `exchange`, `''` gives each process a queue
   * of its own, which is deleted with its connection. Default: none, and messages find their services by their patterns.
   */
  readonly queue?: string | undefined
  /** How that queue is declared. Default: `{ durable: true }`, as in NestJS. */
  readonly queueOptions?: QueueOptions | undefined
  /**
   * Whether patterns are routing keys of a topic exchange, as in NestJS 12: the queue of a service is bound to the
   * exchange by its patterns, and a client publishes to the exchange. Default: false.
   */
  readonly wildcards?: boolean | undefined
  /** The name of that exchange; if it is set, `wildcards` need not be set. Default: the name of the queue. */
  readonly exchange?: string | undefined
  /**
   * The type of that exchange. `'fanout'`: each queue that is bound to it gets each message, whatever its pattern; give
   * `exchange`, too. Default: `'topic'`, as in NestJS.
   */
  readonly exchangeType?: 'topic' | 'fanout' | undefined
  /**
   * Whether RabbitMQ forgets a message of that queue when it has sent the message. `false`: a message is acknowledged
   * when its handler ends, and another process gets a message that was not acknowledged. In NestJS, handlers
   * acknowledge messages themselves. Default: true, as in NestJS.
   */
  readonly noAck?: boolean | undefined
  /**
   * Unacknowledged messages of that queue that a process receives at a time, with `noAck: false`. Default: 0, any
   * number, as in NestJS.
   */
  readonly prefetchCount?: number | undefined
  /**
   * Whether messages to that queue survive a restart of the server, if the queue does. Default: false, as in NestJS.
   */
  readonly persistent?: boolean | undefined
  /** Whether that queue is used as it is and not declared: then it must exist. Default: false. */
  readonly noAssert?: boolean | undefined
  /**
   * Queues in which NestJS clients may want their answers (their option `replyQueue`), besides direct reply-to.
   * Default: none.
   */
  readonly replyQueues?: readonly string[] | undefined
}

/** Options of `rabbitmq()`. */
export interface RabbitmqOptions {
  /**
   * Servers of one cluster, tried one after the other: `amqp://user:password@host:port/vhost`, or `amqps://` for TLS.
   * Default: `amqp://localhost`.
   */
  readonly url?: string | readonly string[] | undefined
  /** The name of `url` in NestJS, for options that are copied from there. */
  readonly urls?: string | readonly string[] | undefined
  /** The queue, exchange and reply queues that are shared with NestJS, with its names. Default: none. */
  readonly nest?: RabbitmqNestOptions | undefined
  /** The processes of the service that get an event that is not durable. Default: `'one-process'`. */
  readonly events?: 'one-process' | 'every-process' | undefined
  /** Certificates and keys, as for Node's `tls.connect`, with `amqps://`. */
  readonly tls?: Pick<SecureContextOptions, 'ca' | 'cert' | 'key' | 'passphrase' | 'pfx'> & {
    readonly servername?: string
  }
  /** The name of the connection in RabbitMQ's tools. Default: the service's name. */
  readonly clientName?: string | undefined
  /** Milliseconds within which a connection must be established. Default: 10,000. */
  readonly connectTimeout?: number | undefined
  /**
   * Milliseconds within which the server must give a sign of life; it counts as lost when two signs are missing.
   * Default: 10,000.
   */
  readonly heartbeat?: number | undefined
}

/** A queue shared with NestJS, and its settings. */
export interface NestQueue {
  /** Empty if each process has a queue of its own. */
  readonly name: string
  readonly options: QueueOptions
  /** The exchange that leads to the queue; `undefined`: there is none. */
  readonly exchange: string | undefined
  readonly exchangeType: 'topic' | 'fanout'
  readonly noAck: boolean
  /** 0: any number. */
  readonly prefetchCount: number
  readonly persistent: boolean
  readonly noAssert: boolean
}

/** The table of the options in `nest`. */
export const RABBITMQ_NEST = {
  queue: {
    check: mustBe("the name of a queue, or '' beside an exchange", (name) => name === '' || isName(name))
  },
  queueOptions: {
    check: mustHaveOnly(
      'arguments',
      'autoDelete',
      'deadLetterExchange',
      'deadLetterRoutingKey',
      'durable',
      'exclusive',
      'expires',
      'maxLength',
      'maxPriority',
      'messageTtl'
    )
  },
  wildcards: { byDefault: false, check: mustBeBoolean },
  exchange: { check: mustBe('the name of an exchange', isName) },
  exchangeType: { byDefault: 'topic', check: mustBe("'topic' or 'fanout'", isExchangeType) },
  noAck: { byDefault: true, check: mustBeBoolean },
  prefetchCount: { byDefault: 0, check: mustBeWhole(0, 65_535) },
  persistent: { byDefault: false, check: mustBeBoolean },
  noAssert: { byDefault: false, check: mustBeBoolean },
  replyQueues: { byDefault: [], check: mustBe('a list of names of queues', isListOfNames) }
} as const satisfies OptionTable<RabbitmqNestOptions>

/** The table of all options. */
export const RABBITMQ_OPTIONS = {
  url: {},
  urls: {},
  nest: {},
  events: EVENTS,
  tls: TLS,
  clientName: { check: mustBeText },
  connectTimeout: CONNECT_TIMEOUT,
  heartbeat: HEARTBEAT
} as const satisfies OptionTable<RabbitmqOptions>

/** Options of NestJS that users might expect. */
const FOREIGN = {
  replyQueue:
    'a client gets its answers in a queue of its own; a service names the reply queues of NestJS clients in options.nest.replyQueues'
}
const MOVED = Object.fromEntries(
  Object.keys(RABBITMQ_NEST).map((name) => [
    name,
    `it is an option of what is shared with NestJS: give options.nest.${name}`
  ])
)

type FromUser = FromTable<RabbitmqOptions, typeof RABBITMQ_OPTIONS>
type NestFromUser = FromTable<RabbitmqNestOptions, typeof RABBITMQ_NEST>

/** The checked options, with their defaults. */
export interface CheckedOptions
  extends Pick<FromUser, 'events' | 'tls' | 'clientName' | 'connectTimeout' | 'heartbeat'>,
    Pick<NestFromUser, 'replyQueues'> {
  readonly urls: readonly string[]
  readonly nest: NestQueue | undefined
  /** The addresses of the servers for error messages, without credentials. */
  readonly where: string
}

/** @throws {OptionError} an option is invalid */
export function rabbitmqOptions(given: RabbitmqOptions): CheckedOptions {
  refuseForeign(given, {
    ...adviceFor(RABBITMQ_NEST_OPTIONS, Object.keys(RABBITMQ_OPTIONS)),
    ...FOREIGN,
    ...MOVED
  })
  const all = readTable<RabbitmqOptions, typeof RABBITMQ_OPTIONS>('options', given, RABBITMQ_OPTIONS)
  const { url, urls: theirs, nest: shared = {}, ...others } = all
  const { path, urls } = readUrls({ url, urls: theirs }, 'urls', 'amqp://localhost')
  const where = urls.map((one) => hostOf(one, path)).join(', ')
  refuseForeign(shared, FOREIGN, 'options.nest')
  const nest = readTable<RabbitmqNestOptions, typeof RABBITMQ_NEST>('options.nest', shared, RABBITMQ_NEST)
  return {
    ...others,
    urls: urls as readonly string[],
    nest: nestQueue(nest, shared),
    replyQueues: nest.replyQueues,
    where
  }
}

/** The queue shared with NestJS. @param given the options of the user, without defaults */
function nestQueue(all: NestFromUser, given: RabbitmqNestOptions): NestQueue | undefined {
  const { queue, queueOptions, wildcards, exchange, exchangeType, noAck, prefetchCount } = all
  const { persistent, noAssert } = all
  if (given.prefetchCount !== undefined && noAck)
    throw new OptionError(
      'options.nest.prefetchCount',
      'options.nest.prefetchCount counts messages that are not acknowledged; give noAck: false, too'
    )
  if (queue === undefined) {
    const ways = {
      queueOptions,
      exchange,
      exchangeType: given.exchangeType,
      wildcards: wildcards || undefined,
      noAck: noAck ? undefined : noAck,
      persistent: persistent || undefined,
      noAssert: noAssert || undefined
    }
    const [way] = Object.keys(withoutUndefined(ways))
    if (way === undefined) return undefined
    throw new OptionError(
      `options.nest.${way}`,
      `options.nest.${way} says how a queue of Nest's is used; give options.nest.queue, too`
    )
  }
  if (exchange === undefined && queue === '')
    throw OptionError.expected(
      'options.nest.queue',
      "the name of a queue; '' needs options.nest.exchange",
      queue
    )
  if (exchange === undefined && exchangeType === 'fanout')
    throw new OptionError(
      'options.nest.exchangeType',
      "options.nest.exchangeType is 'fanout', so give the name of that exchange as options.nest.exchange"
    )
  return {
    name: queue,
    options: { durable: true, ...queueOptions },
    exchange: exchange ?? (wildcards ? queue : undefined),
    exchangeType,
    noAck,
    prefetchCount,
    persistent,
    noAssert
  }
}

/**
 * Whether a text may name a queue or exchange of the user: names of this library and of RabbitMQ itself are refused.
 */
function isName(name: unknown): boolean {
  return (
    typeof name === 'string' && name !== '' && Buffer.byteLength(name) < 256 && !/^(_elysia|amq\.)/.test(name)
  )
}

function isExchangeType(value: unknown): value is 'topic' | 'fanout' {
  return value === 'topic' || value === 'fanout'
}

function isListOfNames(value: unknown): boolean {
  return Array.isArray(value) && value.every(isName)
}

const WANTED = "an address such as 'amqp://localhost:5672', or a list of such"
const PORTS = { amqp: 5672, amqps: 5671 } as const

/**
 * The host and port of an address. @param path the option that has the address @throws {OptionError} the text is not an
 * address
 */
export function hostOf(url: unknown, path = 'options.url'): string {
  const { host, port } = readAddress(path, url, PORTS, WANTED)
  return `${host}:${port}`
}

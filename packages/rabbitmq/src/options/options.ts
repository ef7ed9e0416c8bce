/** The options of `rabbitmq()`. */
import type { SecureContextOptions } from 'node:tls'
import { EVENTS, readAddress, TIMEOUT, TLS } from '@elysia-microservices/transport/engine'
import {
  type FromTable,
  mustBe,
  mustBeBoolean,
  mustBeWhole,
  mustHaveOnly,
  OptionError,
  type OptionTable,
  readTable,
  withoutUndefined
} from '@elysia-microservices/transport/kit'
import type { Options } from 'amqplib'

/** The declaration of Nest's queue, in Nest's names. Both ends must say the same, or RabbitMQ refuses the second. */
export type QueueOptions = Pick<
  Options.AssertQueue,
  | 'arguments'
  | 'autoDelete'
  | 'durable'
  | 'exclusive'
  | 'expires'
  | 'maxLength'
  | 'maxPriority'
  | 'messageTtl'
>

/** Options of `rabbitmq()`. */
export interface RabbitmqOptions {
  /** Servers of one cluster, tried one after the other: `amqp://user:password@host:port/vhost`, or `amqps://` for TLS. Default: `['amqp://localhost']`. */
  readonly urls?: string | readonly string[] | undefined
  /**
   * A queue as Nest's ends use them. A service takes what comes there besides what our clients send; a client sends all
   * its calls there. Default: none, and messages find their services by their patterns.
   */
  readonly queue?: string | undefined
  /** The declaration of that queue. Default: `{ durable: true }`, as in Nest. */
  readonly queueOptions?: QueueOptions | undefined
  /**
   * Whether patterns are routing keys of a topic exchange, as Nest 12 has it: a service's queue is bound by them, and a
   * client publishes there. Default: false.
   */
  readonly wildcards?: boolean | undefined
  /** The name of that exchange; with it, `wildcards` need not be set. Default: the name of the queue. */
  readonly exchange?: string | undefined
  /**
   * Whether RabbitMQ forgets a message of that queue when it has sent it. `false`: when its handler is done, so that another
   * process gets what one has not done. Nest's handlers say so themselves, ours by their end. Default: true, as in Nest.
   */
  readonly noAck?: boolean | undefined
  /** Messages of that queue that a process has at a time, with `noAck: false`. Default: 0, any number, as in Nest. */
  readonly prefetchCount?: number | undefined
  /** Queues in which callers of Nest's may want their answers, beside direct reply-to (their `replyQueue`). Default: none. */
  readonly replyQueues?: readonly string[] | undefined
  /** The receivers of an event: `one` process of the service, or `all` processes. Default: `one`. */
  readonly events?: 'one' | 'all' | undefined
  /** Certificates and keys, as Node's `tls.connect` has them, with `amqps://`. */
  readonly tls?: Pick<SecureContextOptions, 'ca' | 'cert' | 'key' | 'passphrase' | 'pfx'> & {
    readonly servername?: string
  }
  /** As RabbitMQ's tools show the connection. Default: the service's name. */
  readonly connectionName?: string | undefined
  /** Milliseconds until a server that says nothing is lost, and for connecting. Default: 10,000. */
  readonly timeout?: number | undefined
}

/** A queue that Nest's ends use, and how. */
export interface NestQueue {
  readonly name: string
  readonly options: QueueOptions
  /** The topic exchange; `undefined`: none. */
  readonly exchange: string | undefined
  readonly noAck: boolean
  /** 0: any number. */
  readonly prefetchCount: number
}

/** All options. */
export const RABBITMQ_OPTIONS = {
  urls: { byDefault: ['amqp://localhost'] },
  queue: { check: mustBe('the name of a queue', isName) },
  queueOptions: {
    check: mustHaveOnly(
      'arguments',
      'autoDelete',
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
  noAck: { byDefault: true, check: mustBeBoolean },
  prefetchCount: { byDefault: 0, check: mustBeWhole(0, 65_535) },
  replyQueues: { byDefault: [], check: mustBe('a list of names of queues', isListOfNames) },
  events: EVENTS,
  tls: TLS,
  connectionName: { check: mustBe('a text', (value) => typeof value === 'string') },
  timeout: TIMEOUT
} as const satisfies OptionTable<RabbitmqOptions>

type FromUser = FromTable<RabbitmqOptions, typeof RABBITMQ_OPTIONS>

/** The checked options. */
export interface CheckedOptions
  extends Pick<FromUser, 'replyQueues' | 'events' | 'tls' | 'connectionName' | 'timeout'> {
  readonly urls: readonly string[]
  readonly nest: NestQueue | undefined
  /** The servers, for errors; without credentials. */
  readonly where: string
}

/** @throws {OptionError} an option is invalid */
export function rabbitmqOptions(given: RabbitmqOptions): CheckedOptions {
  const all = readTable<RabbitmqOptions, typeof RABBITMQ_OPTIONS>('options', given, RABBITMQ_OPTIONS)
  const { replyQueues, events, tls, connectionName, timeout } = all
  const urls = typeof all.urls === 'string' ? [all.urls] : all.urls
  if (!Array.isArray(urls) || urls.length === 0) throw OptionError.expected('options.urls', WANTED, urls)
  const where = urls.map(hostOf).join(', ')
  const nest = nestQueue(all, given)
  return { urls, nest, replyQueues, events, tls, connectionName, timeout, where }
}

/** @param given without defaults */
function nestQueue(all: FromUser, given: RabbitmqOptions): NestQueue | undefined {
  const { queue, queueOptions, wildcards, exchange, noAck, prefetchCount } = all
  if (given.prefetchCount !== undefined && noAck)
    throw new OptionError(
      'options.prefetchCount',
      'options.prefetchCount counts messages that are not acknowledged; give noAck: false, too'
    )
  if (queue === undefined) {
    const ways = {
      queueOptions,
      exchange,
      wildcards: wildcards || undefined,
      noAck: noAck ? undefined : noAck
    }
    const [way] = Object.keys(withoutUndefined(ways))
    if (way === undefined) return undefined
    throw new OptionError(
      `options.${way}`,
      `options.${way} says how a queue of Nest's is used; give options.queue, too`
    )
  }
  return {
    name: queue,
    options: { durable: true, ...queueOptions },
    exchange: exchange ?? (wildcards ? queue : undefined),
    noAck,
    prefetchCount
  }
}

/** Neither ours, nor RabbitMQ's own. */
function isName(name: unknown): boolean {
  return (
    typeof name === 'string' && name !== '' && Buffer.byteLength(name) < 256 && !/^(_elysia|amq\.)/.test(name)
  )
}

function isListOfNames(value: unknown): boolean {
  return Array.isArray(value) && value.every(isName)
}

const WANTED = "an address such as 'amqp://localhost:5672', or a list of such"
const PORTS = { amqp: 5672, amqps: 5671 } as const

/** Host and port of an address. @throws {OptionError} it is none */
export function hostOf(url: unknown): string {
  const { host, port } = readAddress('options.urls', url, PORTS, WANTED)
  return `${host}:${port}`
}

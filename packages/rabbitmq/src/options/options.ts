/** The options of `rabbitmq()`. */
import type { SecureContextOptions } from 'node:tls'
import { checkNames, milliseconds, OptionError } from '@elysia-microservices/transport/kit'
import type { Options } from 'amqplib'

/** How the queue of Nest is declared: as Nest names it. Both ends must say the same, or RabbitMQ refuses the second. */
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

const QUEUE_OPTIONS = [
  'arguments',
  'autoDelete',
  'durable',
  'exclusive',
  'expires',
  'maxLength',
  'maxPriority',
  'messageTtl'
] as const satisfies readonly (keyof QueueOptions)[]

/** Options of `rabbitmq()`. */
export interface RabbitmqOptions {
  /** Servers of one cluster, tried one after the other: `amqp://user:password@host:port/vhost`, or `amqps://` for TLS. Default: `['amqp://localhost']`. */
  readonly urls?: string | readonly string[] | undefined
  /**
   * A queue as Nest's ends use them. A service takes what comes there besides what our clients send; a client sends all
   * its calls there. Default: none, and messages find their services by their patterns.
   */
  readonly queue?: string | undefined
  /** How that queue is declared. Default: `{ durable: true }`, as in Nest. */
  readonly queueOptions?: QueueOptions | undefined
  /**
   * Whether patterns are routing keys of a topic exchange, as Nest 12 has it: a service's queue is bound by them, and a
   * client publishes there. Default: false.
   */
  readonly wildcards?: boolean | undefined
  /** That exchange; `wildcards` need not be said with it. Default: the name of the queue. */
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
  /** Who gets an event: `one` process of the service, or `all` processes. Default: `one`. */
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

/** What is checked of them. */
export interface CheckedOptions {
  readonly urls: readonly string[]
  readonly nest: NestQueue | undefined
  readonly replyQueues: readonly string[]
  readonly events: 'one' | 'all'
  readonly tls: object | undefined
  readonly connectionName: string | undefined
  readonly timeout: number
  /** The servers, for errors; without credentials. */
  readonly where: string
}

/** @throws {OptionError} an option is invalid */
export function rabbitmqOptions(given: RabbitmqOptions): CheckedOptions {
  checkNames('options', given, [
    'urls',
    'queue',
    'queueOptions',
    'wildcards',
    'exchange',
    'noAck',
    'prefetchCount',
    'replyQueues',
    'events',
    'tls',
    'connectionName',
    'timeout'
  ])
  const { events = 'one', replyQueues = [], connectionName, tls, timeout = 10_000 } = given
  const urls = urlsOf(given.urls ?? ['amqp://localhost'])
  if (events !== 'one' && events !== 'all')
    throw OptionError.expected('options.events', "'one' or 'all'", events)
  if (!Array.isArray(replyQueues) || replyQueues.some((name) => !isName(name)))
    throw OptionError.expected('options.replyQueues', 'a list of names of queues', replyQueues)
  if (connectionName !== undefined && typeof connectionName !== 'string')
    throw OptionError.expected('options.connectionName', 'a text', connectionName)
  if (tls !== undefined)
    checkNames('options.tls', tls, ['ca', 'cert', 'key', 'passphrase', 'pfx', 'servername'])
  milliseconds(100, 'options.timeout', timeout)
  return {
    urls,
    nest: nestQueue(given),
    replyQueues,
    events,
    tls,
    connectionName,
    timeout,
    where: urls.map(hostOf).join(', ')
  }
}

function nestQueue({
  queue,
  queueOptions,
  wildcards = false,
  exchange,
  noAck = true,
  prefetchCount
}: RabbitmqOptions): NestQueue | undefined {
  if (typeof noAck !== 'boolean') throw OptionError.expected('options.noAck', 'a boolean', noAck)
  if (prefetchCount !== undefined) {
    if (!Number.isInteger(prefetchCount) || prefetchCount < 0 || prefetchCount > 65_535)
      throw OptionError.expected('options.prefetchCount', 'a whole number up to 65535', prefetchCount)
    if (noAck)
      throw new OptionError(
        'options.prefetchCount',
        'options.prefetchCount counts messages that are not acknowledged; give noAck: false, too'
      )
  }
  if (typeof wildcards !== 'boolean') throw OptionError.expected('options.wildcards', 'a boolean', wildcards)
  if (exchange !== undefined && !isName(exchange))
    throw OptionError.expected('options.exchange', 'the name of an exchange', exchange)
  if (queueOptions !== undefined) checkNames('options.queueOptions', queueOptions, QUEUE_OPTIONS)
  if (queue === undefined) {
    for (const [name, value] of Object.entries({
      queueOptions,
      exchange,
      wildcards: wildcards || undefined,
      noAck: noAck ? undefined : noAck
    }))
      if (value !== undefined)
        throw new OptionError(
          `options.${name}`,
          `options.${name} says how a queue of Nest's is used; give options.queue, too`
        )
    return undefined
  }
  if (!isName(queue)) throw OptionError.expected('options.queue', 'the name of a queue', queue)
  return {
    name: queue,
    options: { durable: true, ...queueOptions },
    exchange: exchange ?? (wildcards ? queue : undefined),
    noAck,
    prefetchCount: prefetchCount ?? 0
  }
}

/** Neither ours, nor RabbitMQ's own. */
function isName(name: unknown): name is string {
  return (
    typeof name === 'string' && name !== '' && Buffer.byteLength(name) < 256 && !/^(_elysia|amq\.)/.test(name)
  )
}

function urlsOf(given: unknown): readonly string[] {
  const list = typeof given === 'string' ? [given] : given
  const wanted = "an address such as 'amqp://localhost:5672', or a list of such"
  if (!Array.isArray(list) || list.length === 0) throw OptionError.expected('options.urls', wanted, given)
  for (const url of list) {
    let read: URL | undefined
    try {
      read = typeof url === 'string' ? new URL(url) : undefined
    } catch {}
    if (
      read === undefined ||
      (read.protocol !== 'amqp:' && read.protocol !== 'amqps:') ||
      read.hostname === ''
    )
      // An address may have a password in it.
      throw OptionError.expected(
        'options.urls',
        wanted,
        read?.protocol ?? (typeof url === 'string' ? 'no address' : url)
      )
  }
  return list as string[]
}

/** Host and port of an address. */
export function hostOf(url: string): string {
  const { hostname, port, protocol } = new URL(url)
  return `${hostname}:${port === '' ? (protocol === 'amqps:' ? 5671 : 5672) : port}`
}

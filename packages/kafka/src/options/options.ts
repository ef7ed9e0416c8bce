/** The options of `kafka()`. */
import type { SecureContextOptions } from 'node:tls'
import { checkNames, milliseconds, OptionError } from '@elysia-microservices/transport/kit'
import { isTopicName } from '../words/names.ts'

/** How a user signs in. */
export interface KafkaSasl {
  readonly mechanism: 'PLAIN' | 'SCRAM-SHA-256' | 'SCRAM-SHA-512' | 'OAUTHBEARER'
  /** The user; not with `OAUTHBEARER`. */
  readonly username?: string | undefined
  /** The user's password; not with `OAUTHBEARER`. */
  readonly password?: string | undefined
  /** Gives the token of `OAUTHBEARER`, for each connection. */
  readonly token?: (() => string | Promise<string>) | undefined
}

/** Options of `kafka()`. */
export interface KafkaOptions {
  /** Brokers that are asked for all others: `host:port`, or `kafka://host:port`. Default: `['localhost:9092']`. */
  readonly brokers?: readonly string[] | undefined
  /** Certificates and keys, as Node's `tls.connect` has them; `true`: TLS with the system's. Default: no TLS. */
  readonly tls?:
    | true
    | (Pick<SecureContextOptions, 'ca' | 'cert' | 'key' | 'passphrase' | 'pfx'> & {
        readonly servername?: string
      })
    | undefined
  /** Who signs in. Default: nobody. */
  readonly sasl?: KafkaSasl | undefined
  /** What Kafka's tools and quotas call the connections. Default: the service's name, or `client`. */
  readonly clientId?: string | undefined
  /**
   * The group of a service: its processes share requests and events. In Kafka it is `<group>-server`, as with Nest.
   * Default: the service's name.
   */
  readonly group?: string | undefined
  /** Who gets an event: `one` process of the group, or `all` processes. Default: `one`. */
  readonly events?: 'one' | 'all' | undefined
  /** Partitions of topics that are made: at most so many processes of a group have work. Default: 4. */
  readonly partitions?: number | undefined
  /** Copies of topics that are made. Default: as the brokers are set up. */
  readonly replicas?: number | undefined
  /**
   * The end of the name of the topic for answers, where users have rights of their own: `_elysia.inbox.<name>`. Both who
   * calls and who serves read one. Default: `_elysia.inbox`, for all.
   */
  readonly inbox?: string | undefined
  /** Topics on which callers of Nest's may want their answers, beside `<topic>.reply`. Default: none. */
  readonly replyTopics?: readonly string[] | undefined
  /**
   * Whether the addresses that brokers give are used. `false`: only the first of `brokers`, which then is the only broker,
   * behind a tunnel or a forwarded port. Default: true.
   */
  readonly advertised?: boolean | undefined
  /** Milliseconds for connecting. Default: 10,000. */
  readonly timeout?: number | undefined
}

/** What is checked of them. */
export interface CheckedOptions {
  readonly brokers: readonly { readonly host: string; readonly port: number }[]
  readonly tls: SecureContextOptions | undefined
  readonly servername: string | undefined
  readonly sasl: KafkaSasl | undefined
  readonly clientId: string | undefined
  readonly group: string | undefined
  readonly events: 'one' | 'all'
  readonly partitions: number
  /** -1: as the brokers are set up. */
  readonly replicas: number
  readonly inbox: string | undefined
  readonly replyTopics: readonly string[]
  readonly advertised: boolean
  readonly timeout: number
  /** The brokers, for errors. */
  readonly where: string
}

/** @throws {OptionError} an option is invalid */
export function kafkaOptions(given: KafkaOptions): CheckedOptions {
  checkNames('options', given, [
    'brokers',
    'tls',
    'sasl',
    'clientId',
    'group',
    'events',
    'partitions',
    'replicas',
    'inbox',
    'replyTopics',
    'advertised',
    'timeout'
  ])
  const { brokers = ['localhost:9092'], events = 'one', partitions = 4, replicas, inbox } = given
  const { replyTopics = [], advertised = true, timeout = 10_000, tls } = given
  if (!Array.isArray(brokers) || brokers.length === 0)
    throw OptionError.expected('options.brokers', "a list such as ['localhost:9092']", brokers)
  if (events !== 'one' && events !== 'all')
    throw OptionError.expected('options.events', "'one' or 'all'", events)
  whole('partitions', partitions)
  if (replicas !== undefined) whole('replicas', replicas)
  if (inbox !== undefined && !(typeof inbox === 'string' && /^[\w-]{1,64}$/.test(inbox)))
    throw OptionError.expected('options.inbox', 'a text of 1 to 64 letters, digits, - and _', inbox)
  if (!Array.isArray(replyTopics) || !replyTopics.every(isTopicName))
    throw OptionError.expected(
      'options.replyTopics',
      "a list of topics such as 'orders.answers'",
      replyTopics
    )
  if (typeof advertised !== 'boolean')
    throw OptionError.expected('options.advertised', 'a boolean', advertised)
  milliseconds(100, 'options.timeout', timeout)
  if (tls !== undefined && tls !== true)
    checkNames('options.tls', tls, ['ca', 'cert', 'key', 'passphrase', 'pfx', 'servername'])
  const { servername, ...secure } = tls === true || tls === undefined ? {} : tls
  const addresses = brokers.map(readBroker)
  return {
    brokers: addresses,
    tls: tls === undefined ? undefined : secure,
    servername,
    sasl: checkSasl(given.sasl),
    clientId: name('clientId', given.clientId),
    group: name('group', given.group),
    events,
    partitions,
    replicas: replicas ?? -1,
    inbox,
    replyTopics,
    advertised,
    timeout,
    where: addresses.map(({ host, port }) => `${host}:${port}`).join(', ')
  }
}

function whole(name: string, value: unknown): void {
  if (!Number.isInteger(value) || (value as number) < 1 || (value as number) > 30_000)
    throw OptionError.expected(`options.${name}`, 'a whole number from 1 to 30,000', value)
}

function name(option: string, value: unknown): string | undefined {
  if (value === undefined) return undefined
  if (typeof value !== 'string' || value === '' || value.length > 200 || /[\p{Cc}\p{Cs}]/u.test(value))
    throw OptionError.expected(`options.${option}`, 'a text of 1 to 200 characters', value)
  return value
}

function readBroker(broker: unknown): { readonly host: string; readonly port: number } {
  const [, host = '', digits = ''] =
    (typeof broker === 'string' && /^(?:kafka:\/\/)?(\[[\da-fA-F:.]+\]|[^\s:/@]+):(\d{1,5})$/.exec(broker)) ||
    []
  const port = Number(digits)
  if (host === '' || port < 1 || port > 65_535)
    throw OptionError.expected('options.brokers', "addresses such as 'localhost:9092'", broker)
  return { host: host.replace(/^\[|\]$/g, ''), port }
}

const MECHANISMS = ['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512', 'OAUTHBEARER']

function checkSasl(sasl: KafkaSasl | undefined): KafkaSasl | undefined {
  if (sasl === undefined) return undefined
  checkNames('options.sasl', sasl, ['mechanism', 'username', 'password', 'token'])
  const { mechanism, username, password, token } = sasl
  if (!MECHANISMS.includes(mechanism))
    throw OptionError.expected('options.sasl.mechanism', `one of ${MECHANISMS.join(', ')}`, mechanism)
  if (mechanism === 'OAUTHBEARER') {
    if (typeof token !== 'function')
      throw OptionError.expected('options.sasl.token', 'a function that gives the token', typeof token)
    return sasl
  }
  for (const [option, value] of Object.entries({ username, password }))
    if (typeof value !== 'string' || value === '')
      throw OptionError.expected(`options.sasl.${option}`, `a text, for ${mechanism}`, typeof value)
  return sasl
}

/** The options of `kafka()`. */
import type { SecureContextOptions } from 'node:tls'
import { CONNECT_TIMEOUT, EVENTS, readUrls, refuseForeign, TLS } from '@elysia-microservices/engine'
import {
  type FromTable,
  mustBe,
  mustBeBoolean,
  mustBeFunction,
  mustBeWhole,
  OptionError,
  type OptionTable,
  readTable
} from '@elysia-microservices/transport/kit'
import { adviceFor } from '@elysia-microservices/transport/nest'
import { isTopicName } from '../words/names.ts'
import type { CreatePartitioner } from '../words/partitioning.ts'
import { KAFKA_NEST_OPTIONS } from './nest-options.ts'

/** The credentials of a user. */
export interface KafkaSasl {
  readonly mechanism: 'PLAIN' | 'SCRAM-SHA-256' | 'SCRAM-SHA-512' | 'OAUTHBEARER'
  /** The name of the user; not with `OAUTHBEARER`. */
  readonly username?: string | undefined
  /** The user's password; not with `OAUTHBEARER`. */
  readonly password?: string | undefined
  /** Returns the token of `OAUTHBEARER`; called for each connection. */
  readonly token?: (() => string | Promise<string>) | undefined
}

/** Options of `kafka()`. */
export interface KafkaOptions {
  /**
   * Addresses of brokers, which are asked for the addresses of all other brokers: `host:port`, or
   * `kafka://host:port`. Default: `localhost:9092`.
   */
  readonly url?: string | readonly string[] | undefined
  /** Kafka's own name of `url`, for options that are copied from NestJS or from a driver. */
  readonly brokers?: string | readonly string[] | undefined
  /**
   * Certificates and keys, as for Node's `tls.connect`; `true`: TLS with the certificate authorities of the system.
   * Default: no TLS.
   */
  readonly tls?:
    | true
    | (Pick<SecureContextOptions, 'ca' | 'cert' | 'key' | 'passphrase' | 'pfx'> & {
        readonly servername?: string
      })
    | undefined
  /** The credentials. Default: none. */
  readonly sasl?: KafkaSasl | undefined
  /** The name of the connections in Kafka's tools and quotas. Default: the service's name, or `client`. */
  readonly clientName?: string | undefined
  /** The processes of the service that get an event that is not durable. Default: `'one-process'`. */
  readonly events?: 'one-process' | 'every-process' | undefined
  /**
   * The number of partitions of a new topic: at most this many processes of a group receive messages of the topic.
   * Default: 4.
   */
  readonly partitions?: number | undefined
  /** The number of replicas of a new topic. Default: the setting of the brokers. */
  readonly replicas?: number | undefined
  /**
   * The user's part of the name of the topic for answers, if each user has rights of its own: with `'orders'` it is
   * `_elysia.inbox.orders`. Both clients and services read such a topic. Default: none, it is `_elysia.inbox`.
   */
  readonly inboxPrefix?: string | undefined
  /** Topics on which NestJS clients may ask for their answers, besides `<topic>.reply`. Default: none. */
  readonly replyTo?: readonly string[] | undefined
  /**
   * Where a new group begins in the topics of its patterns: with new records, or with all that Kafka has. Durable
   * handlers have an option `start` of their own. Default: `'new'`.
   */
  readonly start?: 'new' | 'all' | undefined
  /**
   * Chooses the partition of each record for handlers, as kafkajs's option of this name, such as its
   * `Partitioners.LegacyPartitioner`. Default: records with a key go to the partition of Kafka's own clients, others to
   * each in turn.
   */
  readonly createPartitioner?: CreatePartitioner | undefined
  /**
   * Whether to connect to the addresses that the brokers announce. `false`: connect only to the first address of
   * `url`, as needed behind a tunnel or a forwarded port; this broker is then the only one. Default: true.
   */
  readonly advertised?: boolean | undefined
  /**
   * Whether services also handle records of transactions that are open or aborted. `false`: they handle a record of a
   * transaction when the transaction is committed, and records behind an open transaction wait for its end.
   * Default: false.
   */
  readonly readUncommitted?: boolean | undefined
  /** Milliseconds within which a connection must be established. Default: 10,000. */
  readonly connectTimeout?: number | undefined
}

const A_NAME = mustBe('a text of 1 to 200 characters', isName)
const MECHANISMS = ['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512', 'OAUTHBEARER']

/** The table of credentials. Which fields belong to which mechanism is checked by a function of its own, below. */
export const KAFKA_SASL = {
  mechanism: {
    check: mustBe(`one of ${MECHANISMS.join(', ')}`, (value) => MECHANISMS.includes(value as string)),
    isNeeded: true
  },
  username: {},
  password: {},
  token: {}
} as const satisfies OptionTable<KafkaSasl>

/** The table of all options. */
export const KAFKA_OPTIONS = {
  url: {},
  brokers: {},
  tls: { check: (path, value) => value !== true && TLS.check?.(path, value) },
  sasl: {},
  clientName: { check: A_NAME },
  events: EVENTS,
  partitions: { byDefault: 4, check: mustBeWhole(1, 30_000) },
  replicas: { check: mustBeWhole(1, 30_000) },
  inboxPrefix: { check: mustBe('a text of 1 to 64 letters, digits, - and _', isInboxPrefix) },
  replyTo: { byDefault: [], check: mustBe("a list of topics such as 'orders.answers'", isListOfTopics) },
  start: { byDefault: 'new', check: mustBe("'new' or 'all'", (value) => value === 'new' || value === 'all') },
  createPartitioner: { check: mustBeFunction },
  advertised: { byDefault: true, check: mustBeBoolean },
  readUncommitted: { byDefault: false, check: mustBeBoolean },
  connectTimeout: CONNECT_TIMEOUT
} as const satisfies OptionTable<KafkaOptions>

/** The checked options, with their defaults. */
export interface CheckedOptions
  extends Omit<FromTable<KafkaOptions, typeof KAFKA_OPTIONS>, 'url' | 'brokers' | 'tls' | 'replicas'> {
  readonly brokers: readonly { readonly host: string; readonly port: number }[]
  readonly tls: SecureContextOptions | undefined
  readonly servername: string | undefined
  /** -1: the setting of the brokers. */
  readonly replicas: number
  /** The addresses of the brokers, for error messages. */
  readonly where: string
}

/** @throws {OptionError} an option is invalid */
export function kafkaOptions(given: KafkaOptions): CheckedOptions {
  refuseForeign(given, {
    ...adviceFor(KAFKA_NEST_OPTIONS, Object.keys(KAFKA_OPTIONS)),
    ssl: 'give options.tls: true, or certificates'
  })
  const {
    tls,
    url,
    brokers: theirs,
    ...all
  } = readTable<KafkaOptions, typeof KAFKA_OPTIONS>('options', given, KAFKA_OPTIONS)
  const { servername, ...secure } = tls === true || tls === undefined ? {} : tls
  const { path, urls } = readUrls({ url, brokers: theirs }, 'brokers', 'localhost:9092')
  const brokers = urls.map((broker) => readBroker(path, broker))
  return {
    ...all,
    brokers,
    tls: tls === undefined ? undefined : secure,
    servername,
    sasl: checkSasl(all.sasl),
    replicas: all.replicas ?? -1,
    where: brokers.map(({ host, port }) => `${host}:${port}`).join(', ')
  }
}

function isName(value: unknown): boolean {
  return typeof value === 'string' && value !== '' && value.length <= 200 && !/[\p{Cc}\p{Cs}]/u.test(value)
}

function isInboxPrefix(value: unknown): boolean {
  return typeof value === 'string' && /^[\w-]{1,64}$/.test(value)
}

function isListOfTopics(value: unknown): boolean {
  return Array.isArray(value) && value.every(isTopicName)
}

function readBroker(path: string, broker: unknown): { readonly host: string; readonly port: number } {
  const [, host = '', digits = ''] =
    (typeof broker === 'string' && /^(?:kafka:\/\/)?(\[[\da-fA-F:.]+\]|[^\s:/@]+):(\d{1,5})$/.exec(broker)) ||
    []
  const port = Number(digits)
  if (host === '' || port < 1 || port > 65_535)
    throw OptionError.expected(path, "addresses such as 'localhost:9092'", broker)
  return { host: host.replace(/^\[|\]$/g, ''), port }
}

function checkSasl(given: KafkaSasl | undefined): KafkaSasl | undefined {
  // Variables of the environment that are not set: `process.env.KAFKA_USER ?? ''`.
  if (given === undefined || (given.username === '' && given.password === '')) return undefined
  const sasl = readTable<KafkaSasl, typeof KAFKA_SASL>('options.sasl', given, KAFKA_SASL)
  const { mechanism, username, password, token } = sasl
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

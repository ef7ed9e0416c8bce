/** The options of `mqtt()`. */
import type { SecureContextOptions } from 'node:tls'
import {
  addressOfCall,
  CONNECT_TIMEOUT,
  EVENTS,
  HEARTBEAT,
  readAddress,
  refuseForeign,
  type ServerAddress,
  TLS
} from '@elysia-microservices/engine'
import {
  type FromTable,
  mustBe,
  mustBeBoolean,
  mustBeWhole,
  OptionError,
  type OptionTable,
  readTable
} from '@elysia-microservices/transport/kit'
import { adviceFor } from '@elysia-microservices/transport/nest'
import { ADDRESSING, isInboxPrefix, whyNoFilter } from '../words/topics.ts'
import { MQTT_NEST_OPTIONS } from './nest-options.ts'

/** The event that the server publishes if a connection ends without being closed. */
export interface MqttWill {
  /** The pattern of the event. */
  readonly pattern: string
  /** The data of the event. Default: none. */
  readonly data?: unknown
  /** Whether the server keeps the event for clients that subscribe later. Default: false. */
  readonly retain?: boolean | undefined
  /**
   * Milliseconds until the event is published; the server does not publish it if the connection is restored before. MQTT
   * counts in seconds, so the time is rounded up. Default: 0.
   */
  readonly delay?: number | undefined
}

/** Options of `mqtt()`. */
export interface MqttOptions {
  /**
   * `mqtt://[user:password@]host:port`, or `mqtts://` for TLS; several are servers of one cluster, tried one after the
   * other. Default: `mqtt://localhost:1883`.
   */
  readonly url?: string | readonly string[] | undefined
  /** The name of the user, in place of the one in the address. Default: none. */
  readonly username?: string | undefined
  /** The user's password. Default: none. */
  readonly password?: string | undefined
  /** Certificates and keys, as for Node's `tls.connect`, with `mqtts://`. */
  readonly tls?:
    | (Pick<SecureContextOptions, 'ca' | 'cert' | 'key' | 'passphrase' | 'pfx'> & {
        readonly servername?: string
      })
    | undefined
  /**
   * The id of the connection; the server closes an older connection with the same id. Default: the service's name and
   * a secret, so that each connection has its own id.
   */
  readonly clientId?: string | undefined
  /**
   * The processes of the service that get an event. With `'every-process'` they also get retained events.
   * Default: `'one-process'`.
   */
  readonly events?: 'one-process' | 'every-process' | undefined
  /**
   * Filters of topics on which devices may want their answers, such as `devices/+/answers`. A service answers only on
   * these topics, in inboxes, and where NestJS clients wait. Default: none.
   */
  readonly replyTo?: readonly string[] | undefined
  /** A prefix for the names of inboxes: the name of the user, if each user has rights of its own. Default: none. */
  readonly inboxPrefix?: string | undefined
  /** The event that the server publishes if the connection ends without being closed. Default: none. */
  readonly will?: MqttWill | undefined
  /**
   * The highest quality of service with which messages arrive: 0, 1 or 2. From 1 on the server sends a message again
   * that was lost on the way. Default: 0.
   */
  readonly qos?: 0 | 1 | 2 | undefined
  /** Milliseconds within which a connection must be established. Default: 10,000. */
  readonly connectTimeout?: number | undefined
  /**
   * Milliseconds of silence after which the server is asked for a sign of life; half as long again, and it counts as
   * lost. The server is told whole seconds. Default: 10,000.
   */
  readonly heartbeat?: number | undefined
}

/** The table of the options of a will. */
export const MQTT_WILL = {
  pattern: { check: mustBe('a text', (value) => typeof value === 'string'), isNeeded: true },
  data: {},
  retain: { byDefault: false, check: mustBeBoolean },
  delay: { byDefault: 0, check: mustBeWhole(0, (2 ** 32 - 1) * 1_000) }
} as const satisfies OptionTable<MqttWill>

/** The table of all options. */
export const MQTT_OPTIONS = {
  url: { byDefault: 'mqtt://localhost:1883' },
  username: { check: mustBe('a text', isText), emptyIsNone: true },
  password: {
    check: (path, value) => mustBe('a text', isText)(path, isText(value) ? value : ''),
    emptyIsNone: true
  },
  tls: TLS,
  clientId: { check: mustBe('a text', isText) },
  events: EVENTS,
  replyTo: {
    byDefault: [],
    check: mustBe("a list of filters such as 'devices/+/answers'", isListOfFilters)
  },
  inboxPrefix: { check: mustBe('a text of 1 to 64 letters, digits, - and _', isInboxPrefix) },
  will: {
    check: mustBe("an object such as { pattern: 'devices/7/gone' }", (value) => Object(value) === value)
  },
  qos: { byDefault: 0, check: mustBe('0, 1 or 2', (value) => [0, 1, 2].includes(value as number)) },
  connectTimeout: CONNECT_TIMEOUT,
  heartbeat: HEARTBEAT
} as const satisfies OptionTable<MqttOptions>

/** Where a server is, and as whom to connect. */
export type MqttServer = Omit<ServerAddress<'mqtt' | 'mqtts'>, 'path'>

/** The checked options, with their defaults. */
export interface CheckedOptions
  extends Omit<FromTable<MqttOptions, typeof MQTT_OPTIONS>, 'url' | 'username' | 'password' | 'will'> {
  readonly will: FromTable<MqttWill, typeof MQTT_WILL> | undefined
  readonly servers: readonly MqttServer[]
  /** The addresses of the servers for error messages, without credentials. */
  readonly where: string
}

const PORTS = { mqtt: 1883, mqtts: 8883 } as const

/** @throws {OptionError} an option is invalid */
export function mqttOptions(given: MqttOptions): CheckedOptions {
  refuseForeign(given, adviceFor(MQTT_NEST_OPTIONS, Object.keys(MQTT_OPTIONS)))
  const { url, username, password, ...all } = readTable('options', given, MQTT_OPTIONS)
  const urls = [url].flat()
  if (urls.length === 0) throw OptionError.expected('options.url', WANTED, urls)
  const servers = urls.map((one) => readServer(one, { username, password, isSecure: all.tls !== undefined }))
  const will = all.will && readTable<MqttWill, typeof MQTT_WILL>('options.will', all.will, MQTT_WILL)
  if (will !== undefined) addressOfCall(ADDRESSING, will.pattern)
  return { ...all, will, servers, where: servers.map(({ host, port }) => `${host}:${port}`).join(', ') }
}

const WANTED = "an address such as 'mqtt://localhost:1883', or mqtts:// for TLS"

function readServer(
  url: unknown,
  given: Pick<MqttOptions, 'username' | 'password'> & { readonly isSecure: boolean }
): MqttServer {
  const { path, ...server } = readAddress('options.url', url, PORTS, WANTED)
  if (path !== '') throw OptionError.expected('options.url', WANTED, 'one with a path')
  if (given.isSecure && server.protocol === 'mqtt')
    throw new OptionError(
      'options.tls',
      'options.tls is for an address that begins with mqtts://; change options.url'
    )
  const username = given.username ?? server.username
  const password = given.password ?? server.password
  if (password !== undefined && username === undefined)
    throw new OptionError(
      'options.password',
      'options.password belongs to a user; give options.username, too'
    )
  return { ...server, username, password }
}

function isText(value: unknown): boolean {
  const isWhole = typeof value === 'string' && value !== '' && !/[\0\p{Cs}]/u.test(value)
  return isWhole && Buffer.byteLength(value) <= 65_535
}

function isListOfFilters(value: unknown): boolean {
  return Array.isArray(value) && value.every((one) => typeof one === 'string' && !whyNoFilter(one))
}

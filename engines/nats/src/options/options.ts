/** The options of `nats()`. */
import {
  type Addresses,
  CONNECT_TIMEOUT,
  EVENTS,
  readAddress,
  readUrls,
  refuseForeign
} from '@elysia-microservices/engine'
import {
  type FromTable,
  mustBe,
  mustBeAtLeast,
  mustBeBoolean,
  mustBeFunction,
  mustBeMilliseconds,
  mustBeSecret,
  mustBeText,
  type OptionTable,
  readTable,
  withoutUndefined
} from '@elysia-microservices/transport/kit'
import { adviceFor } from '@elysia-microservices/transport/nest'
import type { NodeConnectionOptions } from '@nats-io/transport-node'
import { Inboxes } from '../words/inboxes.ts'
import { type DurableStorage, durableStorage, type NatsDurableOptions } from './durable-options.ts'
import { NATS_NEST_OPTIONS } from './nest-options.ts'

/** Options that are passed on to the driver unchanged. */
type PassedOn =
  | 'authenticator'
  | 'debug'
  | 'ignoreClusterUpdates'
  | 'maxPingOut'
  | 'noRandomize'
  | 'pingInterval'
  | 'reconnectDelayHandler'
  | 'reconnectJitter'
  | 'reconnectJitterTLS'
  | 'reconnectTimeWait'
  | 'resolve'
  | 'tls'
  | 'token'

/** The options of `nats()`: those of NATS's driver for the connection, and those of this library. */
export interface NatsOptions extends Pick<NodeConnectionOptions, PassedOn> {
  /**
   * Servers of one cluster: `nats://[user:password@]host:port` or `nats://token@host:port`, or `tls://` for TLS; `nats://` may be left out. Default:
   * `nats://localhost:4222`.
   */
  readonly url?: string | readonly string[] | undefined
  /** NATS's own name of `url`, for options that are copied from NestJS or from the driver. */
  readonly servers?: string | readonly string[] | undefined
  /** The name of the user, in place of the one in the address. Default: none. */
  readonly username?: string | undefined
  /** The user's password. Default: none. */
  readonly password?: string | undefined
  /** The name of the connection in NATS's tools. Default: the service's name. */
  readonly clientName?: string | undefined
  /** The processes of the service that get an event that is not durable. Default: `'one-process'`. */
  readonly events?: 'one-process' | 'every-process' | undefined
  /**
   * The user's part of the names of inboxes, on which answers arrive, if each user has rights of its own: with
   * `'orders'` they begin with `_INBOX.orders`. Default: none, they begin with `_INBOX`.
   */
  readonly inboxPrefix?: string | undefined
  /**
   * Prefixes of subjects on which clients that are not ours may want their answers, besides `_INBOX` and `_INBOX_…`. A
   * service answers only there. Default: none.
   */
  readonly replyTo?: readonly string[] | undefined
  /** Milliseconds within which a connection must be established. Default: 10,000. */
  readonly connectTimeout?: number | undefined
  /** How durable events are stored, which needs JetStream. Default: in files, for 7 days. */
  readonly durable?: NatsDurableOptions | undefined
}

function isAuthenticator(value: unknown): boolean {
  return [value].flat().every((one) => typeof one === 'function')
}

const A_PREFIX = "a subject without wildcards such as '_ANSWERS.orders'"

/**
 * The options of the driver, with defaults. The driver's own defaults give up after ten attempts to reconnect, and
 * notice a dead server only after minutes.
 */
const DRIVER = {
  authenticator: { check: mustBe('a function, or a list of functions', isAuthenticator) },
  debug: { check: mustBeBoolean },
  ignoreClusterUpdates: { check: mustBeBoolean },
  maxPingOut: { check: mustBeAtLeast(1) },
  noRandomize: { check: mustBeBoolean },
  pingInterval: { byDefault: 10_000, check: mustBeMilliseconds(1) },
  reconnectDelayHandler: { check: mustBeFunction },
  reconnectJitter: { byDefault: 250, check: mustBeMilliseconds(0) },
  reconnectJitterTLS: { check: mustBeMilliseconds(0) },
  reconnectTimeWait: { byDefault: 250, check: mustBeMilliseconds(0) },
  resolve: { check: mustBeBoolean },
  tls: { check: mustBe('an object, or null for no TLS', (tls) => typeof tls === 'object') },
  token: { check: mustBeSecret, emptyIsNone: true }
} as const satisfies OptionTable<Pick<NodeConnectionOptions, PassedOn>>

/** The table of all options. */
export const NATS_OPTIONS = {
  url: {},
  servers: {},
  username: { check: mustBeText, emptyIsNone: true },
  password: { check: mustBeSecret, emptyIsNone: true },
  clientName: { check: mustBeText },
  events: EVENTS,
  inboxPrefix: { check: mustBe('a text of 1 to 64 letters, digits, - and _', isInboxPrefix) },
  replyTo: { byDefault: [], check: mustBe(`a list, each ${A_PREFIX}`, isListOfPrefixes) },
  connectTimeout: CONNECT_TIMEOUT,
  durable: {},
  ...DRIVER
} as const satisfies OptionTable<NatsOptions>

/** The checked options, with their defaults. */
export interface CheckedOptions extends Pick<FromTable<NatsOptions, typeof NATS_OPTIONS>, 'events'> {
  readonly durable: DurableStorage
  readonly connection: NodeConnectionOptions
  readonly inboxes: Inboxes
  /** The addresses of the servers for error messages, without credentials. */
  readonly where: string
}

/**
 * Options that a user may not change: a service that has given up reconnecting would never receive a message again.
 */
const FIXED: NodeConnectionOptions = {
  reconnect: true,
  maxReconnectAttempts: -1,
  waitOnFirstConnect: false,
  ignoreAuthErrorAbort: true,
  noAsyncTraces: true
}

/** @throws {OptionError} an option is invalid */
export function natsOptions(given: NatsOptions): CheckedOptions {
  refuseForeign(given, adviceFor(NATS_NEST_OPTIONS, Object.keys(NATS_OPTIONS)))
  const all = readTable('options', given, NATS_OPTIONS)
  const { url, servers, username, password, clientName, events, durable, ...others } = all
  const { inboxPrefix, replyTo, connectTimeout, ...driver } = others
  const place = placeOf(readUrls({ url, servers }, 'servers', 'nats://localhost:4222'))
  const inboxes = new Inboxes(inboxPrefix, replyTo)
  return {
    events,
    durable: durableStorage(durable),
    where: place.servers.join(', '),
    connection: {
      servers: place.servers,
      inboxPrefix: inboxes.prefix,
      ...(withoutUndefined({
        ...driver,
        user: username ?? place.user,
        pass: password ?? place.pass,
        token: driver.token ?? place.token,
        name: clientName,
        tls: driver.tls ?? place.tls
      }) as NodeConnectionOptions),
      timeout: connectTimeout,
      ...FIXED
    },
    inboxes
  }
}

const PORTS = { nats: 4222, tls: 4222 } as const

/** Reads addresses. The driver would ignore the user and the protocol in an address. */
function placeOf({ path, urls }: Addresses) {
  const wanted = "an address such as 'nats://localhost:4222', or a list of such"
  const read = urls.map((url) => {
    const whole = typeof url === 'string' && !url.includes('://') ? `nats://${url}` : url
    return readAddress(path, whole, PORTS, wanted)
  })
  const { username, password } = read[0] as (typeof read)[number]
  return {
    servers: read.map(({ host, port }) => (host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`)),
    // In NATS's addresses, a name without a password is a token.
    user: password === undefined ? undefined : username,
    pass: password,
    token: password === undefined ? username : undefined,
    tls: read.some(({ protocol }) => protocol === 'tls') ? {} : undefined
  }
}

function isInboxPrefix(value: unknown): boolean {
  return typeof value === 'string' && /^[\w-]{1,64}$/.test(value)
}

function isPrefix(value: unknown): boolean {
  return typeof value === 'string' && /^[^\s*>.$]+(\.[^\s*>.$]+)*$/.test(value) && value !== '_ELYSIA'
}

function isListOfPrefixes(value: unknown): boolean {
  return Array.isArray(value) && value.every(isPrefix)
}

/** The options of `redis()`. */
import { CONNECT_TIMEOUT, EVENTS, refuseForeign } from '@elysia-microservices/engine'
import {
  type FromTable,
  mustBe,
  mustBeBoolean,
  mustBeMilliseconds,
  mustBeSecret,
  mustBeText,
  mustBeWhole,
  type OptionTable,
  readTable,
  withoutUndefined
} from '@elysia-microservices/transport/kit'
import { adviceFor } from '@elysia-microservices/transport/nest'
import type { RedisOptions as DriverOptions } from 'ioredis'
import { isInboxPrefix } from '../words/channels.ts'
import { type DurableStorage, durableStorage, type RedisDurableOptions } from './durable-options.ts'
import { REDIS_NEST_OPTIONS } from './nest-options.ts'
import { type Place, placeOf } from './place.ts'

/** Options that are passed on to the driver unchanged. */
type PassedOn =
  | 'family'
  | 'host'
  | 'keepAlive'
  | 'password'
  | 'path'
  | 'port'
  | 'sentinelPassword'
  | 'sentinelUsername'
  | 'tls'
  | 'username'

/** The options of `redis()`: those of ioredis for the connection, and those of this library. */
export interface RedisOptions extends Pick<DriverOptions, PassedOn> {
  /**
   * `redis://[user:password@]host:port`, or `rediss://` for TLS. Several: nodes of a `cluster`, or sentinels. Default:
   * `redis://localhost:6379`.
   */
  readonly url?: string | readonly string[] | undefined
  /**
   * Whether the server is a node of a cluster. A few nodes in `url` are enough, because each node names all others. All
   * clients and services use the node that has the keys of stored events, and follow these keys to another node.
   * Default: false.
   */
  readonly cluster?: boolean | undefined
  /** The name by which the sentinels in `url` know the master. Default: none, `url` is the server itself. */
  readonly sentinelName?: string | undefined
  /** The name of the connections in Redis's tools. Default: the service's name. */
  readonly clientName?: string | undefined
  /** Milliseconds within which a connection must be established. Default: 10,000. */
  readonly connectTimeout?: number | undefined
  /** The processes of the service that get an event that is not durable. Default: `'one-process'`. */
  readonly events?: 'one-process' | 'every-process' | undefined
  /**
   * The user's part of the names of inboxes, on which answers arrive, if each user has rights of its own: with
   * `'orders'` they begin with `_elysia:i:orders:`. Default: none.
   */
  readonly inboxPrefix?: string | undefined
  /** How durable events are stored. */
  readonly durable?: RedisDurableOptions | undefined
}

/**
 * The options of the driver. Values are refused here that the driver would accept, and report later in its own way.
 */
const DRIVER = {
  family: { check: mustBe('0, 4 or 6', (value) => [0, 4, 6].includes(value as number)) },
  host: { check: mustBeText },
  keepAlive: { check: mustBeMilliseconds(0) },
  password: { check: mustBeSecret, emptyIsNone: true },
  path: { check: mustBeText },
  port: { check: mustBeWhole(1, 65_535) },
  sentinelPassword: { check: mustBeSecret, emptyIsNone: true },
  sentinelUsername: { check: mustBeText, emptyIsNone: true },
  tls: { check: mustBe("an object of options of Node's tls.connect", (value) => Object(value) === value) },
  username: { check: mustBeText, emptyIsNone: true }
} as const satisfies OptionTable<Pick<DriverOptions, PassedOn>>

/** The table of all options. */
export const REDIS_OPTIONS = {
  url: {},
  cluster: { byDefault: false, check: mustBeBoolean },
  sentinelName: { check: mustBeText },
  clientName: { check: mustBeText },
  connectTimeout: CONNECT_TIMEOUT,
  events: EVENTS,
  inboxPrefix: { check: mustBe('a text of 1 to 64 letters, digits and _', isInboxPrefix) },
  durable: {},
  ...DRIVER
} as const satisfies OptionTable<RedisOptions>

/** The checked options, with their defaults. */
export interface CheckedOptions
  extends Pick<FromTable<RedisOptions, typeof REDIS_OPTIONS>, 'events' | 'inboxPrefix'>,
    Pick<Place, 'cluster'> {
  readonly durable: DurableStorage
  readonly connection: DriverOptions
  /** The address of the server for error messages, without credentials. */
  readonly where: string
}

/** @throws {OptionError} an option is invalid */
export function redisOptions(given: RedisOptions): CheckedOptions {
  refuseForeign(given, {
    ...adviceFor(REDIS_NEST_OPTIONS, Object.keys(REDIS_OPTIONS)),
    sentinels: 'give the addresses of sentinels as options.url, with options.sentinelName',
    name: "give the name of a sentinels' master as options.sentinelName, and that of the connection as options.clientName"
  })
  const all = readTable<RedisOptions, typeof REDIS_OPTIONS>('options', given, REDIS_OPTIONS)
  const { url, host, port, path, cluster: isCluster, sentinelName, ...others } = all
  const { events, inboxPrefix, clientName, durable, ...driver } = others
  const { connection, cluster, where } = placeOf({
    ...withoutUndefined({ url, host, port, path, sentinelName }),
    cluster: isCluster
  })
  return {
    events,
    inboxPrefix,
    durable: durableStorage(durable),
    connection: { ...connection, ...withoutUndefined({ ...driver, connectionName: clientName }) },
    cluster,
    where
  }
}

/** The options of `redis()`. */
import { EVENTS, QUEUE, readAddress } from '@elysia-microservices/engine'
import {
  type FromTable,
  mustBe,
  mustBeMilliseconds,
  mustBeSecret,
  mustBeText,
  mustBeWhole,
  OptionError,
  type OptionTable,
  readTable,
  withoutUndefined
} from '@elysia-microservices/transport/kit'
import type { RedisOptions as DriverOptions } from 'ioredis'
import { isInboxPrefix } from '../words/channels.ts'
import { type DurableStorage, durableStorage, type RedisDurableOptions } from './durable-options.ts'

/** Options that are passed on to the driver unchanged. */
type PassedOn =
  | 'connectTimeout'
  | 'connectionName'
  | 'family'
  | 'host'
  | 'keepAlive'
  | 'name'
  | 'password'
  | 'path'
  | 'port'
  | 'sentinelPassword'
  | 'sentinelUsername'
  | 'sentinels'
  | 'tls'
  | 'username'

/** The options of `redis()`: those of ioredis for the connection, and those of this library. */
export interface RedisOptions extends Pick<DriverOptions, PassedOn> {
  /** `redis://[user:password@]host:port`, or `rediss://` for TLS. Default: `redis://localhost:6379`. */
  readonly url?: string | undefined
  /**
   * Nodes of a cluster, in place of an address. A few are enough, because each node names all others. All clients and
   * services use the node that has the keys of stored events, and follow these keys to another node.
   */
  readonly cluster?: readonly { readonly host: string; readonly port: number }[] | undefined
  /**
   * The queue of a service: its processes share requests and events. Default: the service's name. A service without a
   * name shares requests with all other services without a name, and gets every event.
   */
  readonly queue?: string | undefined
  /** The processes of the queue that get an event that is not durable. Default: `'one-process'`. */
  readonly events?: 'one-process' | 'every-process' | undefined
  /**
   * A prefix for the names of inboxes, on which answers arrive: the name of the user, if each user has rights of its
   * own. Default: none.
   */
  readonly inboxPrefix?: string | undefined
  /** How durable events are stored. */
  readonly durable?: RedisDurableOptions | undefined
}

/**
 * The options of the driver. Values are refused here that the driver would accept, and report later in its own way.
 */
const DRIVER = {
  connectTimeout: { byDefault: 10_000, check: mustBeMilliseconds(1) },
  connectionName: { check: mustBeText },
  family: { check: mustBe('0, 4 or 6', (value) => [0, 4, 6].includes(value as number)) },
  host: { check: mustBeText },
  keepAlive: { check: mustBeMilliseconds(0) },
  name: { check: mustBe('the name by which the sentinels know the master', isText) },
  password: { check: mustBeSecret },
  path: { check: mustBeText },
  port: { check: mustBeWhole(1, 65_535) },
  sentinelPassword: { check: mustBeSecret },
  sentinelUsername: { check: mustBeText },
  sentinels: { check: mustBe("a list such as [{ host: 'a', port: 26379 }]", isListOfSentinels) },
  tls: { check: mustBe("an object of options of Node's tls.connect", (value) => Object(value) === value) },
  username: { check: mustBeText }
} as const satisfies OptionTable<Pick<DriverOptions, PassedOn>>

/** The table of all options. */
export const REDIS_OPTIONS = {
  url: {},
  cluster: { check: mustBe("a list such as [{ host: 'a', port: 6379 }]", isListOfNodes) },
  queue: QUEUE,
  events: EVENTS,
  inboxPrefix: { check: mustBe('a text of 1 to 64 letters, digits and _', isInboxPrefix) },
  durable: {},
  ...DRIVER
} as const satisfies OptionTable<RedisOptions>

/** The checked options, with their defaults. */
export interface CheckedOptions
  extends Pick<
    FromTable<RedisOptions, typeof REDIS_OPTIONS>,
    'queue' | 'events' | 'inboxPrefix' | 'cluster'
  > {
  readonly durable: DurableStorage
  readonly connection: DriverOptions
  /** The address of the server for error messages, without credentials. */
  readonly where: string
}

/** @throws {OptionError} an option is invalid */
export function redisOptions(given: RedisOptions): CheckedOptions {
  const all = readTable('options', given, REDIS_OPTIONS)
  const { url, cluster, queue, events, inboxPrefix, durable, ...driver } = all
  if (driver.sentinels !== undefined) {
    DRIVER.name.check('options.name', driver.name)
    checkBeside(given, 'sentinels', 'is an address, and options.sentinels say where the master is')
  } else if (driver.name !== undefined)
    throw new OptionError(
      'options.name',
      'options.name names a master of sentinels: give options.sentinels, too'
    )
  if (cluster !== undefined)
    checkBeside(given, 'cluster', 'stands beside options.cluster, which says where the servers are')
  const connection: DriverOptions = { ...readUrl(url), ...withoutUndefined(driver) }
  return {
    queue,
    events,
    inboxPrefix,
    durable: durableStorage(durable),
    connection,
    cluster,
    where: whereOf(connection, cluster)
  }
}

function whereOf(
  { sentinels, name, path, host = 'localhost', port = 6379 }: DriverOptions,
  cluster: RedisOptions['cluster']
): string {
  if (cluster !== undefined)
    return `the cluster of ${cluster.map((one) => `${one.host}:${one.port}`).join(', ')}`
  if (sentinels === undefined) return path ?? `${host}:${port}`
  const all = sentinels.map((one) => `${one.host ?? 'localhost'}:${one.port ?? 26_379}`)
  return `the sentinels of '${name}' (${all.join(', ')})`
}

/** @throws {OptionError} an address is given together with `sentinels` or `cluster` */
function checkBeside(given: RedisOptions, those: 'sentinels' | 'cluster', why: string): void {
  for (const name of ['url', 'host', 'port', 'path', 'sentinels'] as const)
    if (name !== those && given[name] !== undefined)
      throw new OptionError(`options.${name}`, `options.${name} ${why}: give one of them`)
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== ''
}

function isListOfSentinels(value: unknown): boolean {
  return isListOf(value, ({ host = '', port = 1 }) => typeof host === 'string' && Number.isInteger(port))
}

function isListOfNodes(value: unknown): boolean {
  return isListOf(value, ({ host, port }) => isText(host) && Number.isInteger(port))
}

function isListOf(value: unknown, isOne: (one: { host?: unknown; port?: unknown }) => boolean): boolean {
  return Array.isArray(value) && value.length > 0 && value.every((one) => isOne(Object(one)))
}

const PORTS = { redis: 6379, rediss: 6379 } as const

function readUrl(url: unknown): DriverOptions {
  if (url === undefined) return {}
  const wanted = "an address such as 'redis://localhost:6379'"
  const { protocol, host, port, username, password, path } = readAddress('options.url', url, PORTS, wanted)
  if (path !== '' && path !== '/0')
    throw new OptionError(
      'options.url',
      `options.url names the database ${path}: channels have none; leave it out`
    )
  return {
    host,
    port,
    ...withoutUndefined({ username, password, tls: protocol === 'rediss' ? {} : undefined })
  }
}

/** The options of `redis()`. */
import { checkNames, milliseconds, OptionError } from '@elysia-microservices/transport/kit'
import type { RedisOptions as DriverOptions } from 'ioredis'
import { isInboxPrefix } from '../words/channels.ts'
import { type DurableStorage, durableStorage, type RedisDurableOptions } from './durable-options.ts'

/** Options of the driver that are passed on as they are, with its own meaning. */
const DRIVER_OPTIONS = [
  'connectTimeout',
  'connectionName',
  'family',
  'host',
  'keepAlive',
  'name',
  'password',
  'path',
  'port',
  'sentinelPassword',
  'sentinelUsername',
  'sentinels',
  'tls',
  'username'
] as const satisfies readonly (keyof DriverOptions)[]

/** Options of `redis()`: those of ioredis for the connection, and ours. */
export interface RedisOptions extends Pick<DriverOptions, (typeof DRIVER_OPTIONS)[number]> {
  /** `redis://[user:password@]host:port`, or `rediss://` for TLS. Default: `redis://localhost:6379`. */
  readonly url?: string | undefined
  /**
   * Nodes of a cluster, in place of an address: some are enough, because one names all others. Everything is on the node that
   * has the keys of stored events; where that is another by now, all ends go there.
   */
  readonly cluster?: readonly { readonly host: string; readonly port: number }[] | undefined
  /**
   * The queue of a service: its processes share what comes. Default: the service's name. A service without a name shares
   * requests with all such services, and gets every event.
   */
  readonly queue?: string | undefined
  /** Who gets an event: `one` process of the queue, or `all` processes. Default: `one`. */
  readonly events?: 'one' | 'all' | undefined
  /**
   * Stands in front of the names of inboxes, where answers come: the name of the user, where each has rights of its own.
   * Default: none.
   */
  readonly inboxPrefix?: string | undefined
  /** How durable events are stored. */
  readonly durable?: RedisDurableOptions | undefined
}

/** What is checked of them. */
export interface CheckedOptions {
  readonly queue: string | undefined
  readonly events: 'one' | 'all'
  readonly inboxPrefix: string | undefined
  readonly durable: DurableStorage
  readonly connection: DriverOptions
  readonly cluster: RedisOptions['cluster']
  /** The server, for errors; without credentials. */
  readonly where: string
}

/** @throws {OptionError} an option is invalid */
export function redisOptions(given: RedisOptions): CheckedOptions {
  checkNames('options', given, [
    'url',
    'cluster',
    'queue',
    'events',
    'inboxPrefix',
    'durable',
    ...DRIVER_OPTIONS
  ])
  const { url, cluster, queue, events = 'one', inboxPrefix, durable, ...driver } = given
  if (queue !== undefined && !(typeof queue === 'string' && /^\S+$/.test(queue)))
    throw OptionError.expected('options.queue', 'a text without blanks', queue)
  if (events !== 'one' && events !== 'all')
    throw OptionError.expected('options.events', "'one' or 'all'", events)
  if (inboxPrefix !== undefined && !isInboxPrefix(inboxPrefix))
    throw OptionError.expected('options.inboxPrefix', 'a text of 1 to 64 letters, digits and _', inboxPrefix)
  checkDriver(driver)
  const { host, port, path, sentinels, name } = driver
  checkSentinels(given)
  checkCluster(given)
  if (port !== undefined && !(Number.isInteger(port) && port > 0 && port < 65_536))
    throw OptionError.expected('options.port', 'a port', port)
  const set = Object.fromEntries(Object.entries(driver).filter(([, value]) => value !== undefined))
  const connection: DriverOptions = { connectTimeout: 10_000, ...readUrl(url), ...set }
  const where =
    cluster !== undefined
      ? `the cluster of ${cluster.map((one) => `${one.host}:${one.port}`).join(', ')}`
      : sentinels !== undefined
        ? `the sentinels of '${name}' (${sentinels.map((one) => `${one.host ?? 'localhost'}:${one.port ?? 26_379}`).join(', ')})`
        : (path ?? `${connection.host ?? host ?? 'localhost'}:${connection.port ?? port ?? 6379}`)
  return { queue, events, inboxPrefix, durable: durableStorage(durable), connection, cluster, where }
}

const TEXTS = ['connectionName', 'host', 'password', 'path', 'username'] as const

/** What the driver would take, and fail by later in words of its own. @throws {OptionError} an option is invalid */
function checkDriver(given: DriverOptions): void {
  for (const name of TEXTS)
    if (given[name] !== undefined && (typeof given[name] !== 'string' || given[name] === ''))
      throw OptionError.expected(`options.${name}`, 'a text', name === 'password' ? 'no text' : given[name])
  const { tls, family, connectTimeout, keepAlive } = given
  if (tls !== undefined && (typeof tls !== 'object' || tls === null))
    throw OptionError.expected('options.tls', "an object of options of Node's tls.connect", tls)
  if (family !== undefined && ![0, 4, 6].includes(family))
    throw OptionError.expected('options.family', '0, 4 or 6', family)
  if (connectTimeout !== undefined) milliseconds(1, 'options.connectTimeout', connectTimeout)
  if (keepAlive !== undefined) milliseconds(0, 'options.keepAlive', keepAlive)
}

/** @throws {OptionError} they are not what they must be, or stand beside an address */
function checkSentinels({ sentinels, name, url, host, port, path }: RedisOptions): void {
  if (sentinels === undefined) {
    if (name !== undefined)
      throw new OptionError(
        'options.name',
        'options.name names a master of sentinels: give options.sentinels, too'
      )
    return
  }
  const isAddress = (one: unknown) => {
    const { host: at = '', port: number = 1 } = Object(one) as { host?: unknown; port?: unknown }
    return typeof at === 'string' && Number.isInteger(number)
  }
  if (!Array.isArray(sentinels) || sentinels.length === 0 || !sentinels.every(isAddress))
    throw OptionError.expected('options.sentinels', "a list such as [{ host: 'a', port: 26379 }]", sentinels)
  if (typeof name !== 'string' || name === '')
    throw OptionError.expected('options.name', 'the name by which the sentinels know the master', name)
  const beside = Object.entries({ url, host, port, path }).find(([, value]) => value !== undefined)
  if (beside !== undefined)
    throw new OptionError(
      `options.${beside[0]}`,
      `options.${beside[0]} is an address, and options.sentinels say where the master is: give one of them`
    )
}

/** @throws {OptionError} they are not what they must be, or stand beside an address */
function checkCluster(given: RedisOptions): void {
  const { cluster } = given
  if (cluster === undefined) return
  const isAddress = (one: unknown) => {
    const { host, port } = Object(one) as { host?: unknown; port?: unknown }
    return typeof host === 'string' && host !== '' && Number.isInteger(port)
  }
  if (!Array.isArray(cluster) || cluster.length === 0 || !cluster.every(isAddress))
    throw OptionError.expected('options.cluster', "a list such as [{ host: 'a', port: 6379 }]", cluster)
  for (const name of ['url', 'host', 'port', 'path', 'sentinels'] as const)
    if (given[name] !== undefined)
      throw new OptionError(
        `options.${name}`,
        `options.${name} stands beside options.cluster, which says where the servers are: give one of them`
      )
}

function readUrl(url: unknown): DriverOptions {
  if (url === undefined) return {}
  const wanted = "an address such as 'redis://localhost:6379'"
  let read: URL
  try {
    if (typeof url !== 'string') throw new TypeError('no text')
    read = new URL(url)
  } catch {
    throw OptionError.expected('options.url', wanted, typeof url === 'string' ? 'no address' : url)
  }
  const { protocol, hostname, port, username, password, pathname } = read
  if ((protocol !== 'redis:' && protocol !== 'rediss:') || hostname === '')
    throw OptionError.expected('options.url', wanted, protocol)
  if (pathname.length > 1 && pathname !== '/0')
    throw new OptionError(
      'options.url',
      `options.url names the database ${pathname}: channels have none; leave it out`
    )
  return {
    host: hostname.replace(/^\[|\]$/g, ''),
    port: port === '' ? 6379 : Number(port),
    ...(username !== '' && { username: decodeURIComponent(username) }),
    ...(password !== '' && { password: decodeURIComponent(password) }),
    ...(protocol === 'rediss:' && { tls: {} })
  }
}

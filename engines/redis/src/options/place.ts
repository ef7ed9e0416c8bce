/** Where the server is: an address, the nodes of a cluster, or the sentinels that know it. */
import { readAddress, type ServerAddress } from '@elysia-microservices/engine'
import { OptionError, withoutUndefined } from '@elysia-microservices/transport/kit'
import type { RedisOptions as DriverOptions } from 'ioredis'

/** The options that say where the server is. */
export interface PlaceOptions {
  readonly url?: string | readonly string[] | undefined
  readonly host?: string | undefined
  readonly port?: number | undefined
  readonly path?: string | undefined
  readonly cluster?: boolean | undefined
  readonly sentinelName?: string | undefined
}

/** Where the server is, for the driver, and for error messages without credentials. */
export interface Place {
  readonly connection: DriverOptions
  /** The nodes to begin with; `undefined`: the server is not part of a cluster. */
  readonly cluster: readonly { readonly host: string; readonly port: number }[] | undefined
  readonly where: string
}

type Address = ServerAddress<'redis' | 'rediss'>

const PORTS = { redis: 6379, rediss: 6379 } as const
const SENTINEL_PORTS = { redis: 26_379, rediss: 26_379 } as const
const WANTED = "an address such as 'redis://localhost:6379', or a list of such"

/** @throws {OptionError} an address is invalid, or two options contradict each other */
export function placeOf(given: PlaceOptions): Place {
  const { url, cluster, sentinelName } = given
  for (const name of ['host', 'port', 'path'] as const)
    if (url !== undefined && given[name] !== undefined)
      throw new OptionError(
        `options.${name}`,
        `options.${name} says where the server is, as options.url does: give only one of them`
      )
  const urls = url === undefined ? [] : [url].flat()
  if (url !== undefined && urls.length === 0) throw OptionError.expected('options.url', WANTED, url)
  if (sentinelName !== undefined) return bySentinels(given, urls)
  if (cluster === true) return ofCluster(given, urls)
  if (urls.length > 1)
    throw new OptionError(
      'options.url',
      'options.url has several addresses: if they are nodes of a cluster, set options.cluster; if they are sentinels, give the name of their master as options.sentinelName'
    )
  if (urls.length === 0) {
    const { host = 'localhost', port = 6379, path } = given
    const connection = withoutUndefined({ host: given.host, port: given.port, path }) as DriverOptions
    return { connection, cluster: undefined, where: path ?? `${host}:${port}` }
  }
  const address = read(urls[0], PORTS)
  const { host, port } = address
  return { connection: { host, port, ...userOf(address) }, cluster: undefined, where: `${host}:${port}` }
}

function ofCluster(given: PlaceOptions, urls: readonly unknown[]): Place {
  if (given.path !== undefined)
    throw new OptionError('options.path', 'options.path is a socket of one server: it has no cluster')
  const { host = 'localhost', port = 6379 } = given
  const all = urls.map((url) => read(url, PORTS))
  const [first] = all
  const users = all.map(({ protocol, username, password }) => JSON.stringify([protocol, username, password]))
  if (new Set(users).size > 1)
    throw new OptionError(
      'options.url',
      'options.url has nodes of one cluster: all of them must have the same protocol, user and password'
    )
  const cluster = first === undefined ? [{ host, port }] : all.map(({ host, port }) => ({ host, port }))
  const where = `the cluster of ${cluster.map((one) => `${one.host}:${one.port}`).join(', ')}`
  return { connection: first === undefined ? {} : userOf(first), cluster, where }
}

function bySentinels({ cluster, sentinelName }: PlaceOptions, urls: readonly unknown[]): Place {
  if (cluster === true)
    throw new OptionError(
      'options.cluster',
      'options.cluster cannot be combined with options.sentinelName: sentinels know one master, and a cluster has several'
    )
  if (urls.length === 0)
    throw new OptionError(
      'options.sentinelName',
      'options.sentinelName names a master that sentinels know: give the addresses of the sentinels as options.url'
    )
  const all = urls.map((url) => read(url, SENTINEL_PORTS))
  for (const { protocol, username, password } of all)
    if (protocol === 'rediss' || username !== undefined || password !== undefined)
      throw new OptionError(
        'options.url',
        'options.url has sentinels: give their user as options.sentinelUsername and options.sentinelPassword, and that of the master, or its TLS, as options.username, options.password and options.tls'
      )
  const sentinels = all.map(({ host, port }) => ({ host, port }))
  const names = sentinels.map(({ host, port }) => `${host}:${port}`).join(', ')
  return {
    connection: { sentinels, name: sentinelName as string },
    cluster: undefined,
    where: `the sentinels of '${sentinelName}' (${names})`
  }
}

function userOf({ protocol, username, password }: Address): DriverOptions {
  return withoutUndefined({ username, password, tls: protocol === 'rediss' ? {} : undefined })
}

function read(url: unknown, ports: Readonly<Record<'redis' | 'rediss', number>>): Address {
  const address = readAddress('options.url', url, ports, WANTED)
  if (address.path !== '' && address.path !== '/0')
    throw new OptionError(
      'options.url',
      `options.url names the database ${address.path}: channels have none; leave it out`
    )
  return address
}

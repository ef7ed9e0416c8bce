/** Options that several engines have: entries for their option tables, and a parser of server addresses. */
import {
  atLeast,
  mustBeMilliseconds,
  mustBeOneOf,
  mustHaveOnly,
  OptionError,
  type OptionRow,
  unlessFalse
} from '@elysia-microservices/transport/kit'

/** The processes of a service that get an event: `events` of an engine. */
export const EVENTS = {
  byDefault: 'one-process',
  check: mustBeOneOf('one-process', 'every-process')
} as const

/** Milliseconds for connecting: `connectTimeout` of an engine. */
export const CONNECT_TIMEOUT = { byDefault: 10_000, check: mustBeMilliseconds(100) } as const

/** Milliseconds of silence after which a server counts as lost: `heartbeat` of an engine. */
export const HEARTBEAT = { byDefault: 10_000, check: mustBeMilliseconds(100) } as const

/** Options for TLS that drivers take: `tls` of an engine. Only their names are checked. */
export const TLS: OptionRow<object> = {
  check: mustHaveOnly('ca', 'cert', 'key', 'passphrase', 'pfx', 'servername')
}

/**
 * The options in `durable` of an engine: how long it stores events and their ids, and after how long it takes events
 * away from a silent process.
 */
export const STORAGE = {
  maxAge: { byDefault: 7 * 24 * 60 * 60 * 1_000, check: unlessFalse(checkAge) },
  duplicateWindow: { byDefault: 120_000, check: mustBeMilliseconds(100) },
  ackWait: { byDefault: 30_000, check: mustBeMilliseconds(500) }
} as const

/** Checks an age, which may be longer than a timer can be. */
function checkAge(path: string, value: unknown): void {
  atLeast(1, path, value)
  if (!Number.isSafeInteger(value)) throw OptionError.expected(path, 'a whole number of milliseconds', value)
}

/** @throws {OptionError} ids would be stored longer than their events */
export function checkWindow(
  path: string,
  { maxAge, duplicateWindow }: { readonly maxAge: number | false; readonly duplicateWindow: number }
): void {
  if (maxAge !== false && maxAge < duplicateWindow)
    throw new OptionError(`${path}.duplicateWindow`, `${path}.duplicateWindow must not be longer than maxAge`)
}

/** The addresses of servers, and the option that has them, for errors. */
export interface Addresses {
  readonly path: string
  readonly urls: readonly unknown[]
}

/**
 * Returns the addresses in the option `url`, one or several, or in the option that the engine's driver has for them.
 * @param theirs the driver's name of the option: `brokers`
 * @throws {OptionError} both options are given, or there is no address in the list
 */
export function readUrls<Theirs extends string>(
  given: { readonly url?: unknown } & { readonly [Name in Theirs]?: unknown },
  theirs: Theirs,
  byDefault: string
): Addresses {
  if (given.url !== undefined && given[theirs] !== undefined)
    throw new OptionError(
      `options.${theirs}`,
      `options.${theirs} is another name of options.url: give only one of them`
    )
  const path = given[theirs] === undefined ? 'options.url' : `options.${theirs}`
  const urls = [given.url ?? given[theirs] ?? byDefault].flat()
  if (urls.length === 0) throw OptionError.expected(path, 'an address, or a list of addresses', urls)
  return { path, urls }
}

/** The address of a server, and the credentials in it. */
export interface ServerAddress<Protocol> {
  readonly protocol: Protocol
  readonly host: string
  readonly port: number
  readonly username: string | undefined
  readonly password: string | undefined
  /** The path with its slash; empty if there is no path. */
  readonly path: string
}

/**
 * Reads the address of a server.
 * @param path the name of the option in error messages
 * @param ports the allowed protocols, each with its default port
 * @param wanted description for errors: "an address such as 'mqtt://localhost:1883'"
 * @throws {OptionError} the value is no such address; the error does not show the value, because it may contain a
 * password
 */
export function readAddress<Protocol extends string>(
  path: string,
  url: unknown,
  ports: Readonly<Record<Protocol, number>>,
  wanted: string
): ServerAddress<Protocol> {
  if (typeof url !== 'string') throw OptionError.expected(path, wanted, url)
  const refused = (why: string) => new OptionError(path, `${path} must be ${wanted}, but ${why}`)
  try {
    const { protocol: scheme, hostname, port, username, password, pathname } = new URL(url)
    const protocol = scheme.slice(0, -1) as Protocol
    if (!Object.hasOwn(ports, protocol)) throw refused(`begins with '${scheme}'`)
    if (hostname === '') throw refused('has no host')
    return {
      protocol,
      host: hostname.replace(/^\[|\]$/g, ''),
      port: port === '' ? ports[protocol] : Number(port),
      username: decodeURIComponent(username) || undefined,
      password: decodeURIComponent(password) || undefined,
      path: pathname === '/' ? '' : pathname
    }
  } catch (error) {
    throw error instanceof OptionError ? error : refused('is no address')
  }
}

const OF_THE_SERVICE: Readonly<Record<string, string>> = {
  group: 'it is an option of the service: microservice({ group, transport })',
  // NestJS's name for a group.
  queue: 'give the service the option group: microservice({ group, transport })'
}

/**
 * Refuses options that other libraries have, and that have another name or meaning here, and those of the service.
 * @param others what to do in place of each, as the end of a sentence
 * @param path the name of the options in errors
 * @throws {OptionError} one of them is given
 */
export function refuseForeign(
  given: object,
  others: Readonly<Record<string, string>>,
  path = 'options'
): void {
  const advice = path === 'options' ? { ...OF_THE_SERVICE, ...others } : others
  for (const name of Object.keys(Object(given) as object))
    if (Object.hasOwn(advice, name))
      throw new OptionError(`${path}.${name}`, `${path}.${name} is not an option; ${advice[name]}`)
}

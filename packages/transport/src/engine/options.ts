/** Options that several engines have: rows for their tables, and how the address of a server is read. */
import { OptionError } from '../errors/index.ts'
import { atLeast, mustBe, mustBeMilliseconds, mustBeOneOf, mustHaveOnly, type OptionRow } from '../options.ts'

/** The processes of a service that get an event: `events` of an engine. */
export const EVENTS = { byDefault: 'one', check: mustBeOneOf('one', 'all') } as const

/** The name under which the processes of a service share their messages: `queue` of an engine. */
export const QUEUE: OptionRow<string> = {
  check: mustBe('a text without blanks', (value) => typeof value === 'string' && /^\S+$/.test(value))
}

/** Milliseconds for connecting: `timeout` of an engine. */
export const TIMEOUT = { byDefault: 10_000, check: mustBeMilliseconds(100) } as const

/** Options for TLS that drivers take: `tls` of an engine. Only their names are checked. */
export const TLS: OptionRow<object> = {
  check: mustHaveOnly('ca', 'cert', 'key', 'passphrase', 'pfx', 'servername')
}

/** How long stored events and their ids are kept, and how long a silent process has its events: in `durable` of an engine. */
export const STORAGE = {
  maxAge: { byDefault: 7 * 24 * 60 * 60 * 1_000, check: checkAge },
  duplicateWindow: { byDefault: 120_000, check: mustBeMilliseconds(100) },
  ackWait: { byDefault: 30_000, check: mustBeMilliseconds(500) }
} as const

/** May be longer than a timer. */
function checkAge(path: string, value: unknown): void {
  atLeast(0, path, value)
  if (!Number.isSafeInteger(value)) throw OptionError.expected(path, 'a whole number of milliseconds', value)
}

/** @throws {OptionError} ids are kept longer than their events */
export function checkWindow(
  path: string,
  { maxAge, duplicateWindow }: { readonly maxAge: number; readonly duplicateWindow: number }
): void {
  if (maxAge !== 0 && maxAge < duplicateWindow)
    throw new OptionError(`${path}.duplicateWindow`, `${path}.duplicateWindow must not be longer than maxAge`)
}

/** Where a server is, and who signs in there. */
export interface ServerAddress<Protocol> {
  readonly protocol: Protocol
  readonly host: string
  readonly port: number
  readonly username: string | undefined
  readonly password: string | undefined
  /** With its slash; empty: none. */
  readonly path: string
}

/**
 * Reads the address of a server.
 * @param path the name of the option in error messages
 * @param ports the protocols that may be, with the port of each where none is given
 * @param wanted in words for errors: "an address such as 'mqtt://localhost:1883'"
 * @throws {OptionError} it is no such address; the error does not show it, because it may have a password in it
 */
export function readAddress<Protocol extends string>(
  path: string,
  url: unknown,
  ports: Readonly<Record<Protocol, number>>,
  wanted: string
): ServerAddress<Protocol> {
  if (typeof url !== 'string') throw OptionError.expected(path, wanted, url)
  const refused = (what: string) => OptionError.expected(path, wanted, what)
  try {
    const { protocol: scheme, hostname, port, username, password, pathname } = new URL(url)
    const protocol = scheme.slice(0, -1) as Protocol
    if (!Object.hasOwn(ports, protocol) || hostname === '') throw refused(protocol)
    return {
      protocol,
      host: hostname.replace(/^\[|\]$/g, ''),
      port: port === '' ? ports[protocol] : Number(port),
      username: decodeURIComponent(username) || undefined,
      password: decodeURIComponent(password) || undefined,
      path: pathname === '/' ? '' : pathname
    }
  } catch (error) {
    throw error instanceof OptionError ? error : refused('no address')
  }
}

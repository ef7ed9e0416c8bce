/** Checks the options of security: who may connect, and TLS. */
import {
  checkNames,
  mustBeBoolean,
  mustBeFunction,
  mustBeSecret,
  mustBeText,
  type OptionCheck,
  OptionError
} from '@elysia-microservices/transport/kit'
import type { Pem, TlsClientOptions, TlsOptions, TlsServerOptions } from '../socket/tls.ts'

/** A value, or a function that returns the value each time it is needed. */
export type Source<Value> = Value | (() => Value | Promise<Value>)

const TLS_NAMES = ['cert', 'key', 'passphrase', 'ca', 'crl', 'ciphers', 'minVersion', 'maxVersion']
/** The names of the options of a server's `tls`. */
export const SERVER_TLS_NAMES = [...TLS_NAMES, 'requestCert', 'rejectUnauthorized']
/** The names of the options of a client's `tls`. */
export const CLIENT_TLS_NAMES = [...TLS_NAMES, 'servername', 'rejectUnauthorized', 'checkServerIdentity']
const VERSIONS: readonly unknown[] = ['TLSv1.2', 'TLSv1.3', undefined]

/** @throws {OptionError} the list is empty, or the server listens on a Unix socket */
export function checkAllow(allow: readonly string[] | undefined, path: string | undefined): void {
  if (allow === undefined) return
  if (!Array.isArray(allow) || allow.length === 0)
    throw OptionError.expected('options.allow', 'a list of one address or network, or more', allow)
  if (path !== undefined)
    throw new OptionError(
      'options.allow',
      "options.allow cannot be combined with options.path: a Unix socket is guarded by its file's permissions"
    )
}

/**
 * Returns the current TLS options of a server.
 * @throws {OptionError} an option has a wrong value or an unknown name
 */
export async function serverTls(source: Source<TlsServerOptions>): Promise<TlsServerOptions> {
  const tls = typeof source === 'function' ? await source() : source
  checkServerTls(tls)
  return tls
}

/** @throws {OptionError} an option has a wrong value or an unknown name */
export function checkServerTls(tls: Source<TlsServerOptions> | undefined): void {
  // The result of a function is checked when it is called.
  if (tls === undefined || typeof tls === 'function') return
  checkTls(tls, SERVER_TLS_NAMES)
  if (tls.cert === undefined) throw OptionError.expected('options.tls.cert', 'PEM text or bytes', undefined)
  if (tls.requestCert === true && tls.ca === undefined) {
    // Without `ca`, every client with a certificate of any public authority would be accepted.
    throw new OptionError(
      'options.tls.ca',
      'options.tls.requestCert needs options.tls.ca: the authorities that sign client certificates'
    )
  }
}

/**
 * Returns the current TLS options of a client; `undefined` for no TLS.
 * @throws {OptionError} an option has a wrong value or an unknown name
 */
export async function clientTls(
  source: boolean | Source<TlsClientOptions> | undefined
): Promise<TlsClientOptions | undefined> {
  const tls = typeof source === 'function' ? await source() : source
  checkClientTls(tls)
  return tls === true ? {} : tls === false ? undefined : tls
}

/** @throws {OptionError} an option has a wrong value or an unknown name */
export function checkClientTls(tls: boolean | Source<TlsClientOptions> | undefined): void {
  if (tls === undefined || typeof tls === 'boolean' || typeof tls === 'function') return
  checkTls(tls, CLIENT_TLS_NAMES)
  const { servername } = tls
  if (servername !== undefined && (typeof servername !== 'string' || servername === ''))
    throw OptionError.expected('options.tls.servername', 'a host name or address', servername)
}

/** The text 'true' would look like true here, and not in the rule that `requestCert` needs `ca`. */
const OTHERS: Readonly<Record<string, OptionCheck>> = {
  requestCert: mustBeBoolean,
  rejectUnauthorized: mustBeBoolean,
  passphrase: mustBeSecret,
  ciphers: mustBeText,
  checkServerIdentity: mustBeFunction
}

function checkTls(tls: TlsOptions, keys: readonly string[]): void {
  if (typeof tls !== 'object' || tls === null)
    throw OptionError.expected('options.tls', 'an object or a function', tls)
  checkNames('options.tls', tls, keys)
  for (const key of ['minVersion', 'maxVersion'] as const)
    if (!VERSIONS.includes(tls[key]))
      throw OptionError.expected(`options.tls.${key}`, "'TLSv1.2' or 'TLSv1.3'", tls[key])
  if (tls.minVersion === 'TLSv1.3' && tls.maxVersion === 'TLSv1.2')
    throw OptionError.expected('options.tls.maxVersion', 'minVersion or higher', tls.maxVersion)
  for (const [key, check] of Object.entries(OTHERS)) {
    const value = (tls as Readonly<Record<string, unknown>>)[key]
    if (value !== undefined) check(`options.tls.${key}`, value)
  }
  for (const key of ['cert', 'key'] as const)
    if (tls[key] !== undefined && !isPem(tls[key]))
      throw OptionError.expected(`options.tls.${key}`, 'PEM text or bytes', tls[key])
  for (const key of ['ca', 'crl'] as const) {
    const all: readonly unknown[] = Array.isArray(tls[key]) ? tls[key] : [tls[key] ?? '-----BEGIN']
    // Runtimes treat an empty list like no list, and would use their default authorities.
    if (all.length === 0 || !all.every(isPem))
      throw OptionError.expected(`options.tls.${key}`, 'PEM text or bytes, or a list of them', tls[key])
  }
  if ((tls.cert === undefined) !== (tls.key === undefined)) {
    const missing = tls.cert === undefined ? 'cert' : 'key'
    throw new OptionError(
      `options.tls.${missing}`,
      `options.tls.${missing} is missing: cert and key belong together`
    )
  }
}

function isPem(value: unknown): value is Pem {
  if (typeof value === 'string') return value.includes('-----BEGIN')
  return value instanceof Uint8Array && Buffer.from(value).includes('-----BEGIN')
}

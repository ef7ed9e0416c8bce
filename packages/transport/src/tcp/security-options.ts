/** The options of who may connect and how the bytes are protected, and what they must be. */
import { ValidationError } from '../errors.ts'
import type { Pem, TlsClientOptions, TlsOptions, TlsServerOptions } from '../socket/tls.ts'

/** A value, or a function that gives it each time it is needed. */
export type Source<Value> = Value | (() => Value | Promise<Value>)

/** Options of both ends. A key that is `undefined` has its default. */
export interface SecurityOptions {
  /**
   * Path of a Unix socket, in place of host and port. A server removes the file when it stops, and replaces that of
   * a server that has died. Default: none.
   */
  readonly path?: string | undefined
}

/** Options of a server. */
export interface ServerSecurityOptions extends SecurityOptions {
  /**
   * Speak TLS, and nothing else. A function is called when the server starts and by `reloadTls()`, so that it can
   * read files again. Default: no TLS.
   */
  readonly tls?: Source<TlsServerOptions> | undefined
  /**
   * Addresses and networks that may connect, such as `['10.0.0.0/8', '::1']`; others are closed at once. Default:
   * all may.
   */
  readonly allow?: readonly string[] | undefined
}

/** Options of a client. */
export interface ClientSecurityOptions extends SecurityOptions {
  /**
   * Speak TLS; `true`: with the authorities that the runtime trusts. A function is called for each connection.
   * Default: no TLS.
   */
  readonly tls?: boolean | Source<TlsClientOptions> | undefined
}

const TLS_KEYS = ['cert', 'key', 'passphrase', 'ca', 'crl', 'ciphers', 'minVersion', 'maxVersion']
const SERVER_KEYS = [...TLS_KEYS, 'requestCert', 'rejectUnauthorized']
const CLIENT_KEYS = [...TLS_KEYS, 'servername', 'rejectUnauthorized', 'checkServerIdentity']
const VERSIONS: readonly unknown[] = ['TLSv1.2', 'TLSv1.3', undefined]
/** `sun_path` without its zero byte, of the systems that have least. */
const MAX_PATH = process.platform === 'linux' ? 107 : 103

/** @throws {ValidationError} it cannot be the path of a socket */
export function checkPath(path: string | undefined): void {
  if (path === undefined) return
  const fits = typeof path === 'string' && path !== '' && !path.includes('\0')
  if (!fits || Buffer.byteLength(path) > MAX_PATH)
    throw new ValidationError('options.path', `the path of a Unix socket, of up to ${MAX_PATH} bytes`, path)
}

/** @throws {ValidationError} it names nobody, or is given for a Unix socket */
export function checkAllow(allow: readonly string[] | undefined, path: string | undefined): void {
  if (allow === undefined) return
  if (!Array.isArray(allow) || allow.length === 0)
    throw new ValidationError('options.allow', 'a list of one address or network, or more', allow)
  if (path !== undefined)
    throw new ValidationError(
      'options.allow',
      "left out: a Unix socket is guarded by its file's permissions",
      allow
    )
}

/**
 * TLS of a server as it is now.
 * @throws {ValidationError} it is not what it must be
 */
export async function serverTls(source: Source<TlsServerOptions>): Promise<TlsServerOptions> {
  const tls = typeof source === 'function' ? await source() : source
  checkServerTls(tls)
  return tls
}

/** @throws {ValidationError} it is not what it must be */
export function checkServerTls(tls: Source<TlsServerOptions> | undefined): void {
  // What a function gives is checked when it gives it.
  if (tls === undefined || typeof tls === 'function') return
  checkTls(tls, SERVER_KEYS)
  if (tls.cert === undefined) throw new ValidationError('options.tls.cert', 'PEM text or bytes', undefined)
  if (tls.requestCert === true && tls.ca === undefined) {
    // Without it, everybody for whom a public authority has signed would be welcome.
    const expected = 'the authorities that sign client certificates, with requestCert'
    throw new ValidationError('options.tls.ca', expected, undefined)
  }
}

/**
 * TLS of a client as it is now; `undefined` for none.
 * @throws {ValidationError} it is not what it must be
 */
export async function clientTls(
  source: boolean | Source<TlsClientOptions> | undefined
): Promise<TlsClientOptions | undefined> {
  const tls = typeof source === 'function' ? await source() : source
  checkClientTls(tls)
  return tls === true ? {} : tls === false ? undefined : tls
}

/** @throws {ValidationError} it is not what it must be */
export function checkClientTls(tls: boolean | Source<TlsClientOptions> | undefined): void {
  if (tls === undefined || typeof tls === 'boolean' || typeof tls === 'function') return
  checkTls(tls, CLIENT_KEYS)
  const { servername } = tls
  if (servername !== undefined && (typeof servername !== 'string' || servername === ''))
    throw new ValidationError('options.tls.servername', 'a host name or address', servername)
}

function checkTls(tls: TlsOptions, keys: readonly string[]): void {
  if (typeof tls !== 'object' || tls === null)
    throw new ValidationError('options.tls', 'an object or a function', tls)
  // Of security, nothing may look as if it had an effect.
  for (const [key, value] of Object.entries(tls))
    if (value !== undefined && !keys.includes(key))
      throw new ValidationError(`options.tls.${key}`, `left out; there are ${keys.join(', ')}`, value)
  for (const key of ['minVersion', 'maxVersion'] as const)
    if (!VERSIONS.includes(tls[key]))
      throw new ValidationError(`options.tls.${key}`, "'TLSv1.2' or 'TLSv1.3'", tls[key])
  if (tls.minVersion === 'TLSv1.3' && tls.maxVersion === 'TLSv1.2')
    throw new ValidationError('options.tls.maxVersion', 'minVersion or higher', tls.maxVersion)
  for (const key of ['cert', 'key'] as const)
    if (tls[key] !== undefined && !isPem(tls[key]))
      throw new ValidationError(`options.tls.${key}`, 'PEM text or bytes', tls[key])
  for (const key of ['ca', 'crl'] as const) {
    const all: readonly unknown[] = Array.isArray(tls[key]) ? tls[key] : [tls[key] ?? '-----BEGIN']
    // An empty list would be no list to the runtimes: they would trust whom they trust by default.
    if (all.length === 0 || !all.every(isPem))
      throw new ValidationError(`options.tls.${key}`, 'PEM text or bytes, or a list of them', tls[key])
  }
  if ((tls.cert === undefined) !== (tls.key === undefined)) {
    const missing = tls.cert === undefined ? 'cert' : 'key'
    throw new ValidationError(
      `options.tls.${missing}`,
      'PEM text or bytes: cert and key belong together',
      undefined
    )
  }
}

function isPem(value: unknown): value is Pem {
  if (typeof value === 'string') return value.includes('-----BEGIN')
  return value instanceof Uint8Array && Buffer.from(value).includes('-----BEGIN')
}

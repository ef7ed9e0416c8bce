/** The options that client and server share, and their checks. */
// All codecs are imported here, because users of TCP choose them by name.
import '@elysia-microservices/transport/msgpack'
import '@elysia-microservices/transport/shapes'
import { OptionError } from '@elysia-microservices/transport/kit'
import { nativeSockets } from '../socket/index.ts'
import type { SocketRuntime } from '../socket/socket.ts'

/**
 * The address at which a server listens, or to which a client connects. A key whose value is `undefined` has its
 * default.
 */
export interface PlaceOptions {
  /** Host name or address. Default: `'localhost'`. */
  readonly host?: string | undefined
  /** Port; a server with port 0 takes any free port. Default: 4000 (not Nest's 3000, where HTTP servers listen). */
  readonly port?: number | undefined
  /**
   * Path of a Unix socket, instead of host and port. A server removes the file when it stops, and replaces the file of
   * a dead server. Default: none.
   */
  readonly path?: string | undefined
}

/** Options for the tests of this package, in addition to the users' options. */
export interface TestOptions {
  /** The sockets to use. Default: those of the runtime (`Bun.listen` under Bun, else `node:net`). */
  readonly sockets?: SocketRuntime | undefined
  /**
   * RSocket: most bytes of a sent frame; longer messages are fragmented. Default: 16,777,215, the limit of the
   * protocol.
   */
  readonly fragmentSize?: number | undefined
}

/** The defaults of the address. */
export const PLACE = { host: 'localhost', port: 4000, path: undefined }

/** The defaults of the options for tests. */
export const TEST_DEFAULTS = { sockets: nativeSockets, fragmentSize: undefined }

/** Longest path of a Unix socket: the size of `sun_path` without its zero byte. */
const MAX_PATH = process.platform === 'linux' ? 107 : 103

/** An IPv6 address as in URLs. */
const BRACKETED = /^\[(.*:.*)\]$/

/**
 * Checks an address, and returns its host without the brackets that IPv6 addresses have in URLs: Bun resolves such a
 * name, and Node does not.
 * @throws {OptionError} host, port or path has a wrong value
 */
export function checkPlace({ host, port, path }: PlaceOptions): string {
  if (typeof host !== 'string' || host === '')
    throw OptionError.expected('options.host', "a host name or address, such as 'localhost'", host)
  if (!Number.isInteger(port) || (port as number) < 0 || (port as number) > 65535)
    throw OptionError.expected('options.port', 'a whole number from 0 to 65535', port)
  const plain = host.replace(BRACKETED, '$1')
  if (path === undefined) return plain
  const fits = typeof path === 'string' && path !== '' && !path.includes('\0')
  if (!fits || Buffer.byteLength(path) > MAX_PATH)
    throw OptionError.expected('options.path', `the path of a Unix socket, of up to ${MAX_PATH} bytes`, path)
  return plain
}

/** The address as text for messages: `tcp://localhost:4000`, `unix:/run/math.sock`. */
export function nameOfPlace({ host = '', port, path }: PlaceOptions): string {
  if (path !== undefined) return `unix:${path}`
  return host.includes(':') ? `tcp://[${host}]:${port}` : `tcp://${host}:${port}`
}

/** The options that both ends have, and what they must be. */
import { OptionError } from '@elysia-microservices/transport/kit'
import { nativeSockets } from '../socket/index.ts'
import type { SocketRuntime } from '../socket/socket.ts'

/** Where a server listens, and where a client connects. A key that is `undefined` has its default. */
export interface PlaceOptions {
  /** Host name or address. Default: `'localhost'`. */
  readonly host?: string | undefined
  /** Port. Default: 4000 (Nest's is 3000, which is where HTTP servers listen). A server takes 0 for any. */
  readonly port?: number | undefined
  /**
   * Path of a Unix socket, in place of host and port. A server removes the file when it stops, and replaces that of
   * a server that has died. Default: none.
   */
  readonly path?: string | undefined
}

/** What this package's own tests give beside the options of users. */
export interface TestOptions {
  /** Whose sockets to use. Default: those of the runtime (`Bun.listen` under Bun, else `node:net`). */
  readonly sockets?: SocketRuntime | undefined
  /** RSocket: bytes of a frame that is sent; longer messages are cut into fragments. Default: 16,777,215, the most. */
  readonly fragmentSize?: number | undefined
}

/** Where, with its defaults. */
export const PLACE = { host: 'localhost', port: 4000, path: undefined }

/** Of tests, with their defaults. */
export const TEST_DEFAULTS = { sockets: nativeSockets, fragmentSize: undefined }

/** `sun_path` without its zero byte, of the systems that have least. */
const MAX_PATH = process.platform === 'linux' ? 107 : 103

/** @throws {OptionError} it is no place */
export function checkPlace({ host, port, path }: PlaceOptions): void {
  if (typeof host !== 'string' || host === '')
    throw OptionError.expected('options.host', "a host name or address, such as 'localhost'", host)
  if (!Number.isInteger(port) || (port as number) < 0 || (port as number) > 65535)
    throw OptionError.expected('options.port', 'a whole number from 0 to 65535', port)
  if (path === undefined) return
  const fits = typeof path === 'string' && path !== '' && !path.includes('\0')
  if (!fits || Buffer.byteLength(path) > MAX_PATH)
    throw OptionError.expected('options.path', `the path of a Unix socket, of up to ${MAX_PATH} bytes`, path)
}

/** A place in messages: `tcp://localhost:4000`, `unix:/run/math.sock`. */
export function nameOfPlace({ host = '', port, path }: PlaceOptions): string {
  if (path !== undefined) return `unix:${path}`
  return host.includes(':') ? `tcp://[${host}]:${port}` : `tcp://${host}:${port}`
}

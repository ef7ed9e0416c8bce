/** The options of the TCP transport, with their defaults in one table each. */
import { ValidationError } from '../errors.ts'
import { consoleLogger, type Logger } from '../logger.ts'
import { nativeSockets } from '../socket/index.ts'
import type { SocketRuntime } from '../socket/socket.ts'

/** Options that both ends have. A key that is `undefined` has its default. */
export interface TcpOptions {
  /** Host name or address. Default: `'localhost'`. */
  readonly host?: string | undefined
  /** Port. Default: 4000 (Nest's is 3000, which is where HTTP servers listen). A server takes 0 for any. */
  readonly port?: number | undefined
  /** UTF-16 code units that may be received and wait to be handled. Default: 134,217,728, as in Nest. */
  readonly maxBufferSize?: number | undefined
  /** Bytes that may be written and wait to be sent; 0 for no limit. Default: 134,217,728, as in Nest. */
  readonly maxSendBufferSize?: number | undefined
  /**
   * Milliseconds without progress after which a message that has begun to arrive ends the connection; 0 for
   * no limit. Default: 30,000, as in Nest.
   */
  readonly incompleteMessageTimeout?: number | undefined
  /** Where to report what no caller can be told. Default: the console. */
  readonly logger?: Logger | undefined
  /** Whose sockets to use. Default: those of the runtime (`Bun.listen` under Bun, else `node:net`). */
  readonly sockets?: SocketRuntime | undefined
}

/** Options of a TCP server. */
export interface TcpServerOptions extends TcpOptions {}

/** Options of a TCP client. */
export interface TcpClientOptions extends TcpOptions {
  /** What to speak. Default, and the only one yet: `'nest'`, the wire of NestJS 12. */
  readonly protocol?: 'nest' | undefined
  /** Milliseconds until the (first) answer of a call must be here; 0 for no limit. Default: 30,000. */
  readonly timeout?: number | undefined
  /** Milliseconds until a connection must be made. Default: 10,000. */
  readonly connectTimeout?: number | undefined
}

type Defaults<Options> = { readonly [Key in keyof Options]-?: NonNullable<Options[Key]> }

const DEFAULTS: Defaults<TcpOptions> = {
  host: 'localhost',
  port: 4000,
  maxBufferSize: 128 * 1024 * 1024,
  maxSendBufferSize: 128 * 1024 * 1024,
  incompleteMessageTimeout: 30_000,
  logger: consoleLogger,
  sockets: nativeSockets
}

/** What a server does where its options are silent. */
export const SERVER_DEFAULTS: Defaults<TcpServerOptions> = DEFAULTS

/** What a client does where its options are silent. */
export const CLIENT_DEFAULTS: Defaults<TcpClientOptions> = {
  ...DEFAULTS,
  protocol: 'nest',
  timeout: 30_000,
  connectTimeout: 10_000
}

/**
 * Options with every default filled in.
 * @throws {ValidationError} an option is not what it must be
 */
export function serverOptions(options: TcpServerOptions): Defaults<TcpServerOptions> {
  return checked({ ...SERVER_DEFAULTS, ...defined(options) })
}

/**
 * Options with every default filled in.
 * @throws {ValidationError} an option is not what it must be
 */
export function clientOptions(options: TcpClientOptions): Defaults<TcpClientOptions> {
  const all = checked({ ...CLIENT_DEFAULTS, ...defined(options) })
  if (all.protocol !== 'nest') throw new ValidationError('options.protocol', "'nest'", all.protocol)
  atLeastZero('timeout', all.timeout)
  atLeastZero('connectTimeout', all.connectTimeout)
  return all
}

function checked<Options extends Defaults<TcpOptions>>(options: Options): Options {
  const { host, port } = options
  if (typeof host !== 'string' || host === '') {
    throw new ValidationError('options.host', "a host name or address, such as 'localhost'", host)
  }
  if (!Number.isInteger(port) || port < 0 || port > 65535) {
    throw new ValidationError('options.port', 'a whole number from 0 to 65535', port)
  }
  atLeastZero('maxBufferSize', options.maxBufferSize)
  atLeastZero('maxSendBufferSize', options.maxSendBufferSize)
  atLeastZero('incompleteMessageTimeout', options.incompleteMessageTimeout)
  return options
}

function atLeastZero(name: string, value: number): void {
  if (typeof value === 'number' && value >= 0) return
  throw new ValidationError(`options.${name}`, 'a number, 0 or more', value)
}

function defined<Options extends object>(
  options: Options
): { [Key in keyof Options]: NonNullable<Options[Key]> } {
  const entries = Object.entries(options).filter(([, value]) => value !== undefined)
  return Object.fromEntries(entries) as { [Key in keyof Options]: NonNullable<Options[Key]> }
}

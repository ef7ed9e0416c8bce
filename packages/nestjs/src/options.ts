/** What server and client are configured with, and what of Nest's own options they refuse. */
import {
  type TcpClientOptions,
  type TcpServerOptions,
  type TlsClientOptions,
  type TlsServerOptions,
  ValidationError
} from '@elysia-microservices/transport'

/** Options of `MicroserviceServer`. A key that is `undefined` has its default. */
export interface MicroserviceServerOptions extends TcpServerOptions {
  /** Milliseconds that work in flight may take when the application closes. Default: 10,000. */
  readonly drain?: number | undefined
  /** Nest's name of `tls`. */
  readonly tlsOptions?: TlsServerOptions | undefined
}

/**
 * Options of `MicroserviceClient`. A key that is `undefined` has its default, which is that of the transport's
 * client, but for `reconnect` and `retry`: false, as in Nest.
 */
export interface MicroserviceClientOptions extends TcpClientOptions {
  /** Nest's name of `tls`. */
  readonly tlsOptions?: TlsClientOptions | undefined
}

/** What `status` of server and client tells. */
export type MicroserviceStatus = 'connected' | 'disconnected'

/** What `on` of the server takes. */
export type MicroserviceServerEvents = {
  /** It listens. */
  listening: () => void
  /** It has stopped, its connections are closed. */
  close: () => void
  /** It cannot listen. */
  error: (error: Error) => void
}

/** What `on` of the client takes. */
export type MicroserviceClientEvents = {
  /** A connection is made. */
  connect: () => void
  /** A connection is over. */
  close: () => void
  /** A connection could not be made, or was lost by an error. */
  error: (error: Error) => void
}

const NO_PACKETS =
  'left out: packets are written by the transport; change data in pipes and interceptors, its encoding by the codec of the client'
const NO_SOCKET_CLASS = "left out: the sockets are the runtime's own; `sockets` takes others"
const NO_RETRY = 'left out: a server that cannot listen says so at once; listen again when that is over'
const NOT_NESTED = 'left out: options stand beside each other, as in { host, port }'
const NOT_OF_SERVERS = 'left out: a server understands both protocols and all codecs; the client chooses'

const REFUSED_BY_BOTH = {
  transport: NOT_NESTED,
  options: NOT_NESTED,
  serializer: NO_PACKETS,
  deserializer: NO_PACKETS,
  socketClass: NO_SOCKET_CLASS
}
const REFUSED_BY_SERVER = {
  ...REFUSED_BY_BOTH,
  retryAttempts: NO_RETRY,
  retryDelay: NO_RETRY,
  protocol: NOT_OF_SERVERS,
  codec: NOT_OF_SERVERS
}

const DEFAULT_DRAIN = 10_000

/**
 * Options of the server, apart by who takes them.
 * @throws {ValidationError} an option that Nest's TCP transport has and this one has not
 */
export function splitServerOptions(options: MicroserviceServerOptions): {
  readonly transport: TcpServerOptions
  readonly drain: number
} {
  refuse(REFUSED_BY_SERVER, options)
  const { drain = DEFAULT_DRAIN, ...transport } = withTls(options)
  if (!(drain >= 0)) throw new ValidationError('options.drain', 'a number, 0 or more', drain)
  return { transport, drain }
}

/**
 * Options of the client.
 * @throws {ValidationError} an option that Nest's TCP transport has and this one has not
 */
export function clientOptions(options: MicroserviceClientOptions): TcpClientOptions {
  refuse(REFUSED_BY_BOTH, options)
  return withTls(options)
}

/** Nest's name of an option becomes ours. */
function withTls<Options extends { readonly tls?: unknown; readonly tlsOptions?: Options['tls'] }>(
  options: Options
): Omit<Options, 'tlsOptions'> {
  const { tlsOptions, ...others } = options
  if (tlsOptions === undefined) return others
  if (options.tls !== undefined)
    throw new ValidationError('options.tlsOptions', 'left out beside tls, which is the same', tlsOptions)
  return { ...others, tls: tlsOptions }
}

/** Options come untyped through `ClientsModule`: what has no effect here must not look as if it had. */
function refuse(refused: Readonly<Record<string, string>>, options: object): void {
  for (const [key, value] of Object.entries(options)) {
    const expected = Object.hasOwn(refused, key) ? refused[key] : undefined
    if (expected !== undefined && value !== undefined)
      throw new ValidationError(`options.${key}`, expected, value)
  }
}

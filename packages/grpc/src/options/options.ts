/** The options of both ends of gRPC, with their defaults. Place, TLS and the pool of connections are TCP's. */
import {
  type CheckedClientOptions,
  type CheckedServerOptions,
  clientOptions,
  serverOptions,
  type TcpClientOptions,
  type TcpServerOptions
} from '@elysia-microservices/tcp/kit'
import { checkNames, OptionError, withoutUndefined } from '@elysia-microservices/transport/kit'
import type { GrpcMethods } from '../methods.ts'

/** Limits of a gRPC server. `false` means no limit. */
export type GrpcServerLimits = Pick<
  NonNullable<TcpServerOptions['limits']>,
  | 'receiveBuffer'
  | 'sendBuffer'
  | 'messageSize'
  | 'incompleteMessage'
  | 'connections'
  | 'streams'
  | 'headerSize'
  | 'idle'
  | 'silence'
  | 'age'
  | 'handshake'
>

/** Limits of a gRPC client. `false` means no limit. */
export type GrpcClientLimits = Pick<
  NonNullable<TcpClientOptions['limits']>,
  'receiveBuffer' | 'sendBuffer' | 'messageSize' | 'incompleteMessage' | 'streamBuffer'
>

/** Options of both ends. */
export interface GrpcOptions {
  /** The methods, and the codecs of their messages. */
  readonly proto: GrpcMethods
}

/** Options of a gRPC server. */
export interface GrpcServerOptions
  extends GrpcOptions,
    Pick<TcpServerOptions, 'host' | 'port' | 'path' | 'reusePort' | 'tls' | 'allow'> {
  /** Limits of the server and of its connections. */
  readonly limits?: GrpcServerLimits | undefined
}

/** Options of a gRPC client. */
export interface GrpcClientOptions
  extends GrpcOptions,
    Pick<
      TcpClientOptions,
      | 'host'
      | 'port'
      | 'path'
      | 'tls'
      | 'connectTimeout'
      | 'url'
      | 'connections'
      | 'resolveInterval'
      | 'reconnect'
      | 'retry'
      | 'eject'
    > {
  /** Limits of each connection. */
  readonly limits?: GrpcClientLimits | undefined
}

const PORT = 50_051
const MEBIBYTE = 1_048_576

/** The defaults that differ from TCP's: those of other gRPC libraries. */
const LIMITS = { receiveBuffer: 16 * MEBIBYTE, messageSize: 4 * MEBIBYTE }
const SERVER_LIMITS = { ...LIMITS, streams: 1_000 }

const SHARED = ['proto', 'host', 'port', 'path', 'tls', 'limits']
const OF_SERVERS = [...SHARED, 'reusePort', 'allow']
const OF_CLIENTS = [
  ...SHARED,
  'connectTimeout',
  'url',
  'connections',
  'resolveInterval',
  'reconnect',
  'retry',
  'eject'
]
const CONNECTION_LIMITS = ['receiveBuffer', 'sendBuffer', 'messageSize', 'incompleteMessage']
const LIMITS_OF_SERVERS = [
  ...CONNECTION_LIMITS,
  'connections',
  'streams',
  'headerSize',
  'idle',
  'silence',
  'age',
  'handshake'
]
const LIMITS_OF_CLIENTS = [...CONNECTION_LIMITS, 'streamBuffer']

/** Checks the names of options that may be those of either end. @throws {OptionError} a name is unknown */
export function checkGrpcOptions(given: object): void {
  checkNames('options', given, [...new Set([...OF_SERVERS, ...OF_CLIENTS])])
}

/** @throws {OptionError} an option has a wrong value or an unknown name */
export function grpcServerOptions(given: GrpcServerOptions): CheckedServerOptions {
  const { proto, limits, ...place } = checked(given, OF_SERVERS, LIMITS_OF_SERVERS)
  return serverOptions({
    port: PORT,
    ...withoutUndefined(place),
    limits: { ...SERVER_LIMITS, ...withoutUndefined(limits) }
  })
}

/** @throws {OptionError} an option has a wrong value or an unknown name */
export function grpcClientOptions(given: GrpcClientOptions): CheckedClientOptions {
  const { proto, limits, ...place } = checked(given, OF_CLIENTS, LIMITS_OF_CLIENTS)
  return clientOptions({
    port: PORT,
    ...withoutUndefined(place),
    limits: { ...LIMITS, ...withoutUndefined(limits) }
  })
}

function checked<Given extends GrpcServerOptions | GrpcClientOptions>(
  given: Given,
  names: readonly string[],
  limits: readonly string[]
): Given & { readonly limits: NonNullable<Given['limits']> } {
  checkNames('options', given, [...names])
  if (given.limits !== undefined) checkNames('options.limits', given.limits, [...limits])
  const { proto } = given
  if (typeof proto?.method !== 'function')
    throw OptionError.expected('options.proto', 'what loadProto() has read', proto)
  return { ...given, limits: given.limits ?? {} }
}

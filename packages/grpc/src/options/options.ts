/** The options of both ends of gRPC, with their defaults. Place, TLS and the pool of connections are TCP's. */
import type { ProtoSource, RpcCode } from '@elysia-microservices/protobuf'
import { isRpcCode } from '@elysia-microservices/protobuf/rpc'
import {
  type CheckedClientOptions,
  type CheckedServerOptions,
  clientOptions,
  serverOptions,
  type TcpClientOptions,
  type TcpServerOptions
} from '@elysia-microservices/tcp/kit'
import {
  checkNames,
  isInDevelopment,
  LONGEST_TIME,
  mustBeBoolean,
  OptionError,
  withoutUndefined
} from '@elysia-microservices/transport/kit'
import type { KeepaliveTimes } from '../http2/keepalive.ts'
import type { GrpcMethods } from '../methods.ts'
import { compressionOptions, type GrpcCompressionOptions } from './compression-options.ts'
import { type CheckedHealth, type GrpcHealthOptions, healthOptions } from './health-options.ts'
import {
  CLIENT_KEEPALIVE,
  type GrpcKeepaliveOptions,
  keepaliveOptions,
  SERVER_KEEPALIVE
} from './keepalive-options.ts'
import { type ChoosePattern, methodsOf } from './methods-option.ts'

type TcpLimits = NonNullable<TcpServerOptions['limits']>

/** Limits of a gRPC server. `false` means no limit. Those of TCP count the same here, if nothing else is said. */
export interface GrpcServerLimits
  extends Pick<
    TcpLimits,
    | 'receiveBuffer'
    | 'sendBuffer'
    | 'incompleteMessage'
    | 'connections'
    | 'idle'
    | 'silence'
    | 'age'
    | 'handshake'
  > {
  /** Most bytes of a message, also of one that was compressed. A longer one ends its call. Default: 4,194,304. */
  readonly messageSize?: TcpLimits['messageSize']
  /**
   * Most calls in flight on all connections together. Further calls fail with `UNAVAILABLE` and have not begun: clients
   * of this library make them elsewhere. With `'adaptive'`, or bounds, the server finds the limit from the latency of its
   * handlers; then streams are not counted. Health and reflection are always answered. Default: `false`.
   */
  readonly inFlight?: TcpLimits['inFlight']
  /**
   * Most calls of one connection in flight (`SETTINGS_MAX_CONCURRENT_STREAMS`). Clients know it, and let further calls wait;
   * those that come all the same are refused before they begin (`REFUSED_STREAM`). Default: 1,000.
   */
  readonly streams?: TcpLimits['streams']
  /** Most bytes of the metadata of a call, with 32 bytes for each entry. With more, the call fails. Default: 65,536. */
  readonly headerSize?: TcpLimits['headerSize']
  /**
   * Least milliseconds between two PINGs of a client, while nothing is sent to it. The connection of a client that asks
   * more often ends with `ENHANCE_YOUR_CALM` and `too_many_pings` at the third time, after which clients of gRPC ask less
   * often. Default: 300,000, as in other gRPC libraries.
   */
  readonly pings?: number | false | undefined
}

/** Limits of a gRPC client. `false` means no limit. */
export type GrpcClientLimits = Pick<
  NonNullable<TcpClientOptions['limits']>,
  'receiveBuffer' | 'sendBuffer' | 'messageSize' | 'incompleteMessage' | 'streamBuffer'
>

/** Options of both ends. */
export interface GrpcOptions {
  /** The services and their methods: from `loadProto()`, `protoOf()` or protobuf-es, one or a list; or methods of your own. */
  readonly proto: ProtoSource | readonly ProtoSource[] | GrpcMethods
  /**
   * Chooses the pattern of a method. Default: `shop.v1.Orders/GetTotal`, or the pattern in a `.proto` that was made from a
   * service.
   */
  readonly pattern?: ChoosePattern | undefined
  /**
   * Whether long messages are sent compressed, with gzip. A server compresses only for callers that say they can read it.
   * Compressing costs more time than most networks save. Default: `false`.
   */
  readonly compression?: boolean | GrpcCompressionOptions | undefined
  /** When the other end is asked for a sign of life; `false`: never. */
  readonly keepalive?: false | GrpcKeepaliveOptions | undefined
}

/** Options of a gRPC server. */
export interface GrpcServerOptions
  extends GrpcOptions,
    Pick<TcpServerOptions, 'host' | 'port' | 'path' | 'reusePort' | 'tls' | 'allow'> {
  /**
   * Answers `grpc.health.v1.Health`, which probes of Kubernetes ask: `SERVING` while the server listens and all checks pass,
   * `NOT_SERVING` while it drains, for the name `''` (no name), `readiness`, and each service of the `.proto`; for
   * `liveness` always `SERVING`. A service of that name with handlers of your own comes before it. Default: `true`.
   */
  readonly health?: boolean | GrpcHealthOptions | undefined
  /**
   * Answers `grpc.reflection`, by which `grpcurl` and other tools learn all methods and messages. Default: only in a
   * process that `elysia-microservices dev` has started.
   */
  readonly reflection?: boolean | undefined
  /**
   * Codes of calls for the error codes of the application: `{ OUT_OF_STOCK: 'failed_precondition' }`. They take precedence
   * over the table of codes. Default: none.
   */
  readonly errors?: Readonly<Record<string, RpcCode>> | undefined
  /** Limits of the server and of its connections. */
  readonly limits?: GrpcServerLimits | undefined
}

/** Checked options of a server, with their defaults. */
export interface CheckedGrpcServerOptions extends CheckedServerOptions {
  readonly methods: GrpcMethods
  /** `undefined`: health is not answered. */
  readonly health: CheckedHealth | undefined
  readonly reflection: boolean
  readonly keepalive: KeepaliveTimes
  /** Bytes from which on a message is compressed; `Infinity`: none is. */
  readonly packsFrom: number
  /** Least milliseconds between two PINGs of a client; 0 for no limit. */
  readonly pings: number
  readonly errors: Readonly<Record<string, RpcCode>> | undefined
}

/** Checked options of a client, with their defaults. */
export interface CheckedGrpcClientOptions extends CheckedClientOptions {
  readonly methods: GrpcMethods
  readonly keepalive: KeepaliveTimes
  /** Bytes from which on a message is compressed; `Infinity`: none is. */
  readonly packsFrom: number
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
const PINGS = 300_000

const SHARED = ['proto', 'pattern', 'host', 'port', 'path', 'tls', 'compression', 'keepalive', 'limits']
const OF_SERVERS = [...SHARED, 'reusePort', 'allow', 'health', 'reflection', 'errors']
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
/** Options of TCP for simulations, which are not for users. */
const OF_TESTS = ['sockets']
const LIMITS_OF_SERVERS = [
  ...CONNECTION_LIMITS,
  'connections',
  'inFlight',
  'streams',
  'headerSize',
  'idle',
  'silence',
  'age',
  'handshake',
  'pings'
]
const LIMITS_OF_CLIENTS = [...CONNECTION_LIMITS, 'streamBuffer']

/** The names of the options of both ends, for the documentation's table. */
export const GRPC_OPTION_NAMES = { own: [...new Set([...OF_SERVERS, ...OF_CLIENTS])] }

/** Checks the names of options that may be those of either end. @throws {OptionError} a name is unknown */
export function checkGrpcOptions(given: object): void {
  checkNames('options', ofUsers(given), GRPC_OPTION_NAMES.own)
}

/** The options without those of tests, which no error names. */
function ofUsers(given: object): object {
  return Object.fromEntries(Object.entries(given).filter(([name]) => !OF_TESTS.includes(name)))
}

/** @throws {OptionError} an option has a wrong value or an unknown name */
export function grpcServerOptions(given: GrpcServerOptions): CheckedGrpcServerOptions {
  const { proto, pattern, errors, limits, compression, keepalive, health, reflection, ...place } = checked(
    given,
    OF_SERVERS,
    LIMITS_OF_SERVERS
  )
  const { pings, ...others } = limits
  const methods = methodsOf(proto, pattern)
  return {
    ...serverOptions({
      port: PORT,
      ...withoutUndefined(place),
      limits: { ...SERVER_LIMITS, ...withoutUndefined(others) }
    }),
    methods,
    errors: checkedErrors(errors),
    health: healthOptions(health),
    reflection: reflects(reflection, methods),
    keepalive: keepaliveOptions(keepalive, SERVER_KEEPALIVE),
    packsFrom: compressionOptions(compression),
    pings: pingsOption(pings)
  }
}

/** @throws {OptionError} reflection is wanted, and there is nothing to tell */
function reflects(reflection: boolean | undefined, methods: GrpcMethods): boolean {
  if (reflection === undefined) return isInDevelopment() && methods.descriptors !== undefined
  mustBeBoolean('options.reflection', reflection)
  if (reflection && methods.descriptors === undefined)
    throw new OptionError(
      'options.reflection',
      'options.reflection needs an options.proto with descriptors(), as loadProto() returns it'
    )
  return reflection
}

function pingsOption(pings: number | false = PINGS): number {
  if (pings === false) return 0
  if (typeof pings === 'number' && pings >= 1 && pings <= LONGEST_TIME) return pings
  throw OptionError.expected(
    'options.limits.pings',
    'milliseconds from 1 to 24.8 days, or false for no limit',
    pings
  )
}

function checkedErrors(errors: GrpcServerOptions['errors']): GrpcServerOptions['errors'] {
  if (errors === undefined) return undefined
  if (typeof errors !== 'object' || errors === null)
    throw OptionError.expected('options.errors', 'an object of codes of calls by the codes of errors', errors)
  for (const [code, one] of Object.entries(errors))
    if (!isRpcCode(one))
      throw OptionError.expected(`options.errors.${code}`, "a code of a call such as 'not_found'", one)
  return errors
}

/** @throws {OptionError} an option has a wrong value or an unknown name */
export function grpcClientOptions(given: GrpcClientOptions): CheckedGrpcClientOptions {
  const { proto, pattern, limits, compression, keepalive, ...place } = checked(
    given,
    OF_CLIENTS,
    LIMITS_OF_CLIENTS
  )
  return {
    ...clientOptions({
      port: PORT,
      ...withoutUndefined(place),
      limits: { ...LIMITS, ...withoutUndefined(limits) }
    }),
    methods: methodsOf(proto, pattern),
    keepalive: keepaliveOptions(keepalive, CLIENT_KEEPALIVE),
    packsFrom: compressionOptions(compression)
  }
}

function checked<Given extends GrpcServerOptions | GrpcClientOptions>(
  given: Given,
  names: readonly string[],
  limits: readonly string[]
): Given & { readonly limits: NonNullable<Given['limits']> } {
  checkNames('options', ofUsers(given), [...names])
  if (given.limits !== undefined) checkNames('options.limits', given.limits, [...limits])
  return { ...given, limits: given.limits ?? {} }
}

/** The options of server and client, and the options of Nest that both refuse. */
import {
  type AnyStore,
  checkedDefaults,
  checkLogger,
  checkTimes,
  DEFAULT_DRAIN,
  type EventStore,
  type Logger,
  loggerOf,
  type MessageHeaders,
  mustBeMilliseconds,
  mustBeText,
  OptionError,
  type OptionTable,
  readTable,
  storeOf,
  type Transport,
  timeoutOf
} from '@elysia-microservices/transport/kit'
import { NEST_OPTION_NAMES, type NestEnd, type NestMethod } from '@elysia-microservices/transport/nest'
import { type MicroserviceOptions, Transport as NestTransport } from '@nestjs/microservices'
import { fromNestForm, isNestForm, type NestForm } from './nest-transport.ts'
import { type ShortClientOptions, type ShortServerOptions, shortForm } from './short-form.ts'

/** Options of every server, on any transport. */
interface ServerOptions {
  /** The name of the service. Engines share work among servers with the same name. Default: none. */
  readonly name?: string | undefined
  /** The name under which servers share work, in place of `name`. Default: the name. */
  readonly group?: string | undefined
  /**
   * The store of durable handlers, beside the transports: a store such as `sqlite('events.db')`, or a transport that
   * stores events, of which only the store is used. Default: the transport, if it stores events.
   */
  readonly store?: AnyStore | undefined
  /** Milliseconds that messages in flight may take when the application closes. Default: 10,000. */
  readonly drain?: number | undefined
  /** The logger for failures that no caller can be told. Default: Nest's logger. */
  readonly logger?: Logger | undefined
}

/** Options of every client, on any transport. */
interface ClientOptions {
  /**
   * Milliseconds until the answer of a call (of a stream: its first value) must arrive; `false` for no limit. Default:
   * 30,000.
   */
  readonly timeout?: number | false | undefined
  /** Headers of all calls and events; those of `setOnDispatchHook` take precedence. Default: none. */
  readonly headers?: MessageHeaders | undefined
  /** The logger for failures that no caller can be told. Default: Nest's logger. */
  readonly logger?: Logger | undefined
}

/**
 * Options of `MicroserviceServer`: its own options, and options of TCP, or a transport, or Nest's own `{ transport:
 * Transport.RMQ, options }`. A key whose value is
 * `undefined` has its default.
 */
export type MicroserviceServerOptions =
  | (ServerOptions &
      ShortServerOptions & {
        /** Nest's name for `tls`. */
        readonly tlsOptions?: ShortServerOptions['tls']
      })
  | (ServerOptions & {
      /**
       * The transport for messages, or several transports. Each transport can be used by one server only. Nest passes
       * handlers that are bound to a transport only to the server whose first transport it is.
       */
      readonly transport: Transport | readonly Transport[]
    })
  | (ServerOptions & NestForm)
  // Nest's own type of the same, in which applications keep their options.
  | (ServerOptions & MicroserviceOptions)

/**
 * Options of `MicroserviceClient`: its own options, and options of TCP, or a transport, or Nest's own `{ transport:
 * Transport.RMQ, options }`. A key whose value is
 * `undefined` has its default. With options of TCP, `reconnect` and `retry` are false by default, as in Nest.
 */
export type MicroserviceClientOptions =
  | (ClientOptions &
      ShortClientOptions & {
        /** Nest's name for `tls`. */
        readonly tlsOptions?: ShortClientOptions['tls']
      })
  | (ClientOptions & {
      /** The transport for calls. */
      readonly transport: Transport
    })
  | (ClientOptions & NestForm)

/** The `status` of server and client. */
export type MicroserviceStatus = 'connected' | 'disconnected'

/** The events of the server, for `on`. */
export type MicroserviceServerEvents = {
  /** The server listens. */
  listening: () => void
  /** The server has stopped, and its connections are closed. */
  close: () => void
  /** The server cannot listen. */
  error: (error: Error) => void
}

/** Events of the client's `on()`, with their listeners. */
export type MicroserviceClientEvents = {
  /** A connection was made. */
  connect: () => void
  /** A connection has ended. */
  close: () => void
  /** A connection could not be made, or was lost because of an error. */
  error: (error: Error) => void
}

const NO_PACKETS =
  'packets are written by the transport; change data in pipes and interceptors, its encoding by codec of the client'
const NO_SOCKET_CLASS = "the sockets are the runtime's own"
const NO_RETRY = 'listen() reports an error at once; call listen() again later'
const NOT_NESTED = 'options are given directly, as in { host, port }'
const NOT_OF_SERVERS = 'a server understands both protocols and all codecs; the client chooses'

const REFUSED_BY_BOTH = {
  options: NOT_NESTED,
  serializer: NO_PACKETS,
  deserializer: NO_PACKETS,
  socketClass: NO_SOCKET_CLASS
}
const REFUSED_BY_SERVER = {
  ...REFUSED_BY_BOTH,
  retryAttempts: NO_RETRY,
  retryDelay: NO_RETRY,
  protocol: NOT_OF_SERVERS
}

/** The table of the server's own options. */
export const NEST_SERVER_OPTIONS = {
  name: { check: mustBeText },
  group: { check: mustBeText },
  store: {},
  drain: { byDefault: DEFAULT_DRAIN, check: mustBeMilliseconds(0) },
  logger: { check: checkLogger }
} as const satisfies OptionTable<ServerOptions>

/** The table of the client's own options. */
export const NEST_CLIENT_OPTIONS = {
  timeout: { check: (_path, timeout) => checkTimes({ timeout }) },
  headers: { check: (_path, headers) => void checkedDefaults({ headers: headers as MessageHeaders }) },
  logger: { check: checkLogger }
} as const satisfies OptionTable<ClientOptions>

const SERVER_NAMES = [...Object.keys(NEST_SERVER_OPTIONS), 'transport', 'tlsOptions']
const CLIENT_NAMES = [...Object.keys(NEST_CLIENT_OPTIONS), 'transport', 'tlsOptions']

/** Options of a server, with its transports. */
export interface CheckedServerOptions {
  readonly transports: readonly Transport[]
  /** The store beside the transports; `undefined`: there is none. */
  readonly store: EventStore | undefined
  readonly name: string | undefined
  readonly group: string | undefined
  readonly drain: number
  readonly logger: Logger | undefined
  /** Options in Nest's form that nobody knows. */
  readonly unknown: readonly string[]
}

/** Options of a client, with its transport. */
export interface CheckedClientOptions {
  readonly transport: Transport
  /** The methods of gRPC; `undefined` on other transports. */
  readonly methods: readonly NestMethod[] | undefined
  readonly timeout: number
  readonly headers: MessageHeaders | undefined
  readonly logger: Logger | undefined
  /** Options in Nest's form that nobody knows. */
  readonly unknown: readonly string[]
}

/** @throws {OptionError} an option is invalid, or is an option of Nest that has no effect here */
export function serverOptions(options: MicroserviceServerOptions): CheckedServerOptions {
  const [given, { transport, ...others }] = split<ServerOptions>(options, NEST_SERVER_OPTIONS)
  const own = readTable<ServerOptions, typeof NEST_SERVER_OPTIONS>('options', given, NEST_SERVER_OPTIONS)
  const { name, logger } = own
  const ends = isNestForm(options) ? nestEnd(options, others, (name ?? own.group) !== undefined) : undefined
  const transports = ends
    ? [ends.transport]
    : isShort(transport)
      ? [shortForm(withTls(refused(REFUSED_BY_SERVER, others)), 'server', SERVER_NAMES)]
      : transportsIn(transport, refused(REFUSED_BY_SERVER, others))
  return {
    transports,
    store: own.store === undefined ? undefined : storeOf(own.store, transports),
    name,
    group: own.group ?? (name === undefined ? ends?.group : undefined),
    drain: given.drain === undefined ? (ends?.drain ?? own.drain) : own.drain,
    logger: logger && loggerOf(logger),
    unknown: ends?.unknown ?? []
  }
}

/** @throws {OptionError} an option is invalid, or is an option of Nest that has no effect here */
export function clientOptions(options: MicroserviceClientOptions): CheckedClientOptions {
  const [given, { transport, ...others }] = split<ClientOptions>(options, NEST_CLIENT_OPTIONS)
  const own = readTable<ClientOptions, typeof NEST_CLIENT_OPTIONS>('options', given, NEST_CLIENT_OPTIONS)
  const ends = isNestForm(options) ? nestEnd(asClient(options), others, true) : undefined
  // As in Nest, the client connects when a call is made, and does not retry failed calls.
  const [only] = ends
    ? [ends.transport]
    : isShort(transport)
      ? [
          shortForm(
            { reconnect: false, retry: false, ...withTls(refused(REFUSED_BY_BOTH, others)) },
            'client',
            CLIENT_NAMES
          )
        ]
      : transportsIn(transport, refused(REFUSED_BY_BOTH, others))
  return {
    transport: only as Transport,
    methods: ends?.methods,
    timeout: timeoutOf(own.timeout),
    headers: own.headers ?? ends?.headers,
    logger: own.logger && loggerOf(own.logger),
    unknown: ends?.unknown ?? []
  }
}

/** Separates the own options of an end from those that say how messages travel. */
function split<Own extends object>(
  options: object,
  table: object
): readonly [Own, { readonly transport?: unknown }] {
  const entries = Object.entries(options)
  return [
    Object.fromEntries(entries.filter(([name]) => Object.hasOwn(table, name))) as Own,
    Object.fromEntries(entries.filter(([name]) => !Object.hasOwn(table, name)))
  ]
}

/** As in Nest, a client over TCP or gRPC connects when a call is made, and does not retry failed calls. */
function asClient({ transport, options }: NestForm): NestForm {
  return transport === NestTransport.TCP || transport === NestTransport.GRPC
    ? { transport, options: { reconnect: false, retry: false, ...options } }
    : { transport, options }
}

function nestEnd(options: NestForm, others: object, isNamed: boolean): NestEnd {
  const { options: _, ...stray } = others as NestForm
  const [unknown] = Object.entries(stray).filter(([, value]) => value !== undefined)
  if (unknown !== undefined)
    throw new OptionError(
      `options.${unknown[0]}`,
      `options.${unknown[0]} has no effect beside Nest's transport; put options of Nest's transport into options.options`
    )
  return fromNestForm(options, isNamed)
}

function isShort(transport: unknown): transport is 'tcp' | undefined {
  return transport === undefined || transport === 'tcp'
}

function transportsIn(transport: unknown, others: object): readonly Transport[] {
  const all = [transport].flat() as Transport[]
  if (all.length === 0 || all.some((one) => typeof Object(one).server !== 'function'))
    throw OptionError.expected(
      'options.transport',
      "'tcp', or a transport such as tcp({ port: 4000 })",
      transport
    )
  const [unknown] = Object.entries(others).filter(([, value]) => value !== undefined)
  if (unknown !== undefined)
    throw new OptionError(
      `options.${unknown[0]}`,
      `options.${unknown[0]} has no effect together with options.transport; pass options of a transport to the transport, as in tcp({ port: 4000 })`
    )
  return all
}

/** Renames Nest's `tlsOptions` to `tls`. */
function withTls(options: { readonly tls?: unknown; readonly tlsOptions?: unknown }): object {
  const { tlsOptions, ...others } = options
  if (tlsOptions === undefined) return others
  if (options.tls !== undefined)
    throw new OptionError(
      'options.tlsOptions',
      'options.tlsOptions is the same as options.tls: give only one of them'
    )
  return { ...others, tls: tlsOptions }
}

/**
 * Refuses options of Nest that have no effect here. `ClientsModule` passes options without types, so no compiler finds
 * them.
 */
function refused(refusals: Readonly<Record<string, string>>, options: object): object {
  for (const [key, value] of Object.entries(options)) {
    const why = Object.hasOwn(refusals, key) ? refusals[key] : undefined
    if (why !== undefined && value !== undefined)
      throw new OptionError(`options.${key}`, `options.${key} has no effect here: ${why}`)
    const ours = Object.hasOwn(NEST_OPTION_NAMES, key) ? NEST_OPTION_NAMES[key] : undefined
    if (ours !== undefined && value !== undefined && key !== 'tlsOptions')
      throw new OptionError(`options.${key}`, `options.${key} is called options.${ours} here`)
  }
  return options
}

/** Tells of options in Nest's form that nobody knows: there they would have no effect either, and say nothing. */
export function warnOfUnknown(unknown: readonly string[], logger: Logger): void {
  for (const path of unknown)
    logger.warn(`${path} has no effect: it is no option of Nest's transport, and none of this library's`)
}

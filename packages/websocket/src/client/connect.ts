/** `connect()` for pages: the same calls and types as over TCP. */
import type { AskCredentials, Credentials, ResumeOptions } from '@elysia-microservices/rsocket'
import {
  adaptedCaller,
  type CallDefaults,
  type Caller,
  type CallOptions,
  type ClientContext,
  type ClientTransport,
  type CodecName,
  type ConnectionListener,
  checkTimes,
  codecsInWords,
  consoleLogger,
  defaulting,
  filled,
  type Logger,
  loggerOf,
  milliseconds,
  mimeTypeOfCodec,
  OptionError,
  openCodec,
  type Pattern,
  type PendingCaller,
  StreamValues,
  safely
} from '@elysia-microservices/transport/kit'
import type { CallsTo, Client, UntypedCalls, UntypedClient } from 'elysia-microservices/client'
import type { Behind } from '../exposing.ts'
import { WebSocketClient } from './client.ts'
import { type NewWebSocket, ownWebSocket } from './web-socket.ts'

/** Wraps all calls of a client; made by `middleware()`. */
export type WrapCaller = (caller: Caller) => Caller

/** Options of a client over WebSocket. */
export interface WebSocketClientOptions<Codec extends CodecName = 'json'> {
  /** The address of the server; in a page it may be a path. Default: `'/rsocket'` on the page's own host. */
  readonly url?: string | URL | undefined
  /**
   * The client's credentials, or a function that returns them. The function is called before each connection, also
   * before a lost connection is resumed.
   */
  readonly credentials?: Credentials | AskCredentials | undefined
  /**
   * Middleware of all calls: `wrap: middleware(log, trace)`, the first one outermost. Default: none.
   */
  readonly wrap?: WrapCaller | undefined
  /** The client's name, for display only, which services are told once per connection. Default: none. */
  readonly name?: string | undefined
  /** Milliseconds within which the answer of a call, or the first value of a stream, must arrive; `false` for no limit. Default: 30,000. */
  readonly timeout?: number | false | undefined
  /** How many milliseconds of its timeout a call may wait for a connection. Default: the timeout. */
  readonly waitForConnection?: number | undefined
  /** Milliseconds within which a connection must be made. Default: 10,000. */
  readonly connectTimeout?: number | undefined
  /** Codec of the data. Codecs other than `'json'` and `'bytes'` must be imported. Default: `'json'`. */
  readonly codec?: Codec | undefined
  /**
   * Whether a lost connection is resumed, without losing or repeating a message, if the server allows it. Default:
   * true, for 60 s.
   */
  readonly resume?: boolean | ResumeOptions | undefined
  /** Called at each connection, connection attempt and retry. */
  readonly onStatus?: ConnectionListener | undefined
  /** Receives failures that no caller can be told of. Default: the console. */
  readonly logger?: Logger | undefined
  /**
   * The class `WebSocket`, for runtimes that have none: on Node 20, that of the package `ws`. Default: the
   * runtime's class.
   */
  readonly WebSocket?: object | undefined
}

/** The options of a client, with their defaults. */
export const CLIENT_DEFAULTS = {
  url: '/rsocket',
  credentials: undefined,
  wrap: undefined,
  name: undefined,
  timeout: undefined,
  waitForConnection: undefined,
  connectTimeout: 10_000,
  codec: 'json' as CodecName,
  resume: true,
  onStatus: undefined,
  logger: consoleLogger,
  WebSocket: undefined
}
const DEFAULT_TIMEOUT = 30_000
const RESUME = { window: 60_000, bufferSize: 1024 * 1024 }

/** Methods that would make pages larger: RxJS, on which `send` stands, is larger than most pages. */
type NotInPages = 'send' | 'with' | 'close' | typeof Symbol.asyncDispose

/** A client with the types of a service's patterns, or of those that a door exposes. */
export type WebClientOf<Service, Door = undefined, Codec extends CodecName = 'json'> = Omit<
  Client<Door extends undefined ? Service : Behind<Service, Door>, Codec>,
  NotInPages
> &
  Closing & {
    /** Calls with headers, a timeout or a signal, which then need not be passed with each call. */
    with(defaults: CallDefaults): WebCallsTo<Door extends undefined ? Service : Behind<Service, Door>, Codec>
  }
/** The calls of a client with options of their own: what `client.with()` returns. */
export type WebCallsTo<Service, Codec extends CodecName = 'json'> = Omit<
  CallsTo<Service, Codec>,
  NotInPages
> & {
  with(defaults: CallDefaults): WebCallsTo<Service, Codec>
}
/** A client for any service. */
export type UntypedWebClient = Omit<UntypedClient, NotInPages> & Closing & Pick<UntypedWebCalls, 'with'>
/** As {@link WebCallsTo}, of a client for any service. */
export type UntypedWebCalls = Omit<UntypedCalls, NotInPages> & {
  with(defaults: CallDefaults): UntypedWebCalls
}

interface Closing {
  /** Closes the client. Calls that still wait for an answer fail with a `ConnectionError`. */
  close(): Promise<void>
}

/**
 * Makes a client, which connects at the first call or at `client.connect()`.
 * @throws {OptionError} an option is invalid
 * @example
 * ```ts
 * import { connect } from '@elysia-microservices/websocket/client'
 *
 * const client = connect({ url: 'wss://shop.example/rsocket' })
 * const items = await client.request<string[]>('shop.items')
 * for await (const price of client.stream<number>('shop.prices', items)) console.log(price)
 * ```
 */
export function connect(options?: WebSocketClientOptions<CodecName>): UntypedWebClient
export function connect<Service, Door = undefined>(
  options?: WebSocketClientOptions<'json' | 'shapes'>
): WebClientOf<Service, Door>
export function connect<Service, Door = undefined>(
  options: WebSocketClientOptions<'msgpack'>
): WebClientOf<Service, Door, 'msgpack'>
export function connect<Service, Door = undefined>(
  options: WebSocketClientOptions<'bytes'>
): WebClientOf<Service, Door, 'bytes'>
export function connect<Service, Door = undefined>(
  options: WebSocketClientOptions<CodecName>
): WebClientOf<Service, Door, CodecName>
export function connect(options?: WebSocketClientOptions<CodecName>): object {
  const { wrap, onStatus, ...init } = checked(options)
  return forUsers(new WebSocketClient({ ...init, responder: undefined }, contextOf(init)), onStatus, wrap)
}

/** The part of a client's settings that all transports share. */
export function contextOf({
  logger,
  name,
  timeout,
  waitForConnection
}: Pick<ReturnType<typeof checked>, 'logger' | 'name' | 'timeout' | 'waitForConnection'>): ClientContext {
  return {
    logger: loggerOf(logger),
    name,
    timeout: (timeout ?? DEFAULT_TIMEOUT) || 0,
    waitForConnection,
    dispatcher: undefined
  }
}

/** Checks the options, and fills in defaults. @throws {OptionError} an option is invalid */
export function checked(options: WebSocketClientOptions<CodecName> | undefined) {
  const {
    url,
    credentials,
    codec,
    resume,
    WebSocket: type,
    ...all
  } = filled('options', options, CLIENT_DEFAULTS)
  milliseconds(1, 'options.connectTimeout', all.connectTimeout)
  checkTimes(all)
  if (all.onStatus !== undefined && typeof all.onStatus !== 'function')
    throw OptionError.expected('options.onStatus', 'a function', all.onStatus)
  if (all.name !== undefined && !(all.name.length > 0 && all.name.length <= 100))
    throw OptionError.expected('options.name', 'a text of 1 to 100 characters', all.name)
  const dataMimeType = mimeTypeOfCodec(codec)
  if (openCodec(dataMimeType) === undefined)
    throw OptionError.expected('options.codec', codecsInWords(codec), codec)
  return {
    ...all,
    url: urlOf(url),
    dataMimeType,
    credentials: typeof credentials === 'function' ? credentials : () => credentials,
    resume: resume === false ? undefined : filled('options.resume', resume === true ? {} : resume, RESUME),
    socket: () => (type as NewWebSocket | undefined) ?? ownWebSocket()
  }
}

/** Reads an address. @throws {OptionError} it is none of a WebSocket */
export function urlOf(given: string | URL): URL {
  const { location } = globalThis as { readonly location?: { readonly href: string } }
  try {
    const url = new URL(given, location?.href)
    url.protocol = url.protocol.replace(/^http/, 'ws')
    url.hash = ''
    if (/^wss?:$/.test(url.protocol)) return url
  } catch {}
  throw OptionError.expected('options.url', "an address such as 'wss://shop.example/rsocket'", given)
}

/** Wraps a client for users: only the methods of its public type can be reached. */
export function forUsers(
  client: PendingCaller & ClientTransport,
  onStatus: ConnectionListener | undefined,
  wrap: WrapCaller = (caller) => caller
): UntypedWebClient {
  if (onStatus !== undefined) client.onStatus(onStatus)
  return {
    ...callsOf(wrap(client)),
    get status() {
      return client.status
    },
    onStatus: (listener) => client.onStatus(listener),
    connect: () => client.connect(),
    close: () => client.close()
  }
}

function callsOf(caller: Caller): UntypedWebCalls {
  const request = <Value>(pattern: Pattern, data?: unknown, options?: CallOptions) =>
    caller.request(pattern, data, options) as Promise<Value>
  const emit: UntypedWebClient['emit'] = (pattern, data, options) => caller.emit(pattern, data, options)
  return {
    with: (defaults) => callsOf(adaptedCaller(caller, defaulting(defaults))),
    request,
    stream: <Value>(pattern: Pattern, data?: unknown, options?: CallOptions) =>
      new StreamValues<Value>((receiver) => caller.stream(pattern, data, receiver, options)),
    emit,
    safe: {
      request: <Value>(pattern: Pattern, data?: unknown, options?: CallOptions) =>
        safely(() => request<Value>(pattern, data, options)),
      emit: (pattern, data, options) => safely(() => emit(pattern, data, options))
    }
  }
}

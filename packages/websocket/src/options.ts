/** The options of a door for WebSockets, with their defaults in one table each. A test checks docs/websocket.md against them. */
import type { Credentials, ServerResumeOptions } from '@elysia-microservices/rsocket'
import { SERVER_RESUME_DEFAULTS } from '@elysia-microservices/rsocket'
import {
  atLeast,
  type FromTable,
  milliseconds,
  mustBe,
  mustBeAtLeast,
  mustBeFunction,
  mustBeMilliseconds,
  OptionError,
  type OptionTable,
  type Pattern,
  readTable,
  withDefaults
} from '@elysia-microservices/transport/kit'
import { exposedRoutes } from './server/exposed.ts'
import { checkOrigins } from './server/origins.ts'

/** The request by which a client connects, and the address that it comes from. */
export interface Upgrade {
  /** The address that it asked for. */
  readonly url: string
  /** Its headers, with the cookies of a page. */
  readonly headers: Headers
  /** The address that it comes from, which behind a proxy is the proxy's; `undefined` if that is not known. */
  readonly address: string | undefined
}

/** A client, or one of its requests, to be authenticated. */
export interface WebSocketAuthentication {
  /** The credentials that the client sent; `undefined` if none. */
  readonly credentials: Credentials | undefined
  readonly upgrade: Upgrade
  /** The pattern of a request that has credentials of its own; `undefined` when the whole connection is authenticated. */
  readonly route: string | undefined
}

/** Identity of a client. */
export interface User {
  /** Names the user: `peer.user` of messages. Only the same user resumes a connection that was lost. */
  readonly user: string
}

/** Says who a client is. Anything but a user refuses it, and so does throwing, which is logged. */
export type WebSocketAuthenticate = (
  request: WebSocketAuthentication
) => User | false | undefined | Promise<User | false | undefined>

/** Limits of a door, far below those of TCP: strangers reach it. */
export interface WebSocketLimits {
  /** Most open connections; further ones are answered 503. Default: 10,000. */
  readonly connections?: number | undefined
  /** The same of one address; 0: no limit, as behind a proxy, where all have the proxy's. Default: 0. */
  readonly connectionsPerAddress?: number | undefined
  /** The same of one user, if `authenticate` names users; further ones are refused in SETUP. Default: 32. */
  readonly connectionsPerUser?: number | undefined
  /** Most requests of one connection in flight; further ones are answered with `REJECTED`. Default: 64. */
  readonly inFlightPerConnection?: number | undefined
  /** Most open streams of one connection; further ones are answered with `REJECTED`. Default: 32. */
  readonly streams?: number | undefined
  /** Most bytes received and waiting to be handled, and of one WebSocket message. Default: 1,048,576. */
  readonly receiveBuffer?: number | undefined
  /** Most bytes waiting to be sent; a client that leaves more unread is cut off. Default: 4,194,304. */
  readonly sendBuffer?: number | undefined
  /** Most bytes of a request that comes in fragments. Default: 1,048,576. */
  readonly messageSize?: number | undefined
  /** Most bytes of route, headers and credentials. Default: 8,192. */
  readonly headerSize?: number | undefined
  /** Milliseconds in which a connection must be set up and authenticated. Default: 5,000. */
  readonly handshake?: number | undefined
  /** Milliseconds without progress after which a message that has begun ends the connection. Default: 10,000. */
  readonly incompleteMessage?: number | undefined
  /** Milliseconds without traffic, keepalive included, after which a connection is closed. Default: 300,000. */
  readonly idle?: number | undefined
  /**
   * Milliseconds after which a client is told to connect again, give or take a tenth: with new credentials. Its open
   * requests and streams end on the old connection. 0: never. Default: 0.
   */
  readonly age?: number | undefined
}

/** Options of `websocket()`. */
export interface WebSocketOptions<Expose extends readonly Pattern[] = readonly Pattern[]> {
  /**
   * The patterns that may be called from outside: as they are written at their handlers, or by `*` for one segment and
   * `>` for the rest, such as `['shop.*']`. Nothing else of a service can be reached.
   */
  readonly expose: Expose
  /** Where clients connect. Default: `'/rsocket'`. */
  readonly path?: string | undefined
  /**
   * Origins of pages that may connect, such as `['https://shop.example']`; `'*'`: all. Programs, which have neither origin nor
   * cookies, may always. Default: the host that the page asks for is the one it came from.
   */
  readonly origins?: readonly string[] | '*' | undefined
  /** Says who a client is, by its credentials or by the cookies and headers of its upgrade. Default: all may connect. */
  readonly authenticate?: WebSocketAuthenticate | undefined
  /** Let clients resume lost connections. Default: true, for 60 s. */
  readonly resume?: boolean | ServerResumeOptions | undefined
  readonly limits?: WebSocketLimits | undefined
}

const MEBIBYTE = 1024 * 1024

/** The limits. */
export const WEBSOCKET_LIMITS = {
  connections: { byDefault: 10_000, check: mustBeAtLeast(1) },
  connectionsPerAddress: { byDefault: 0, check: mustBeAtLeast(0) },
  connectionsPerUser: { byDefault: 32, check: mustBeAtLeast(1) },
  inFlightPerConnection: { byDefault: 64, check: mustBeAtLeast(1) },
  streams: { byDefault: 32, check: mustBeAtLeast(1) },
  receiveBuffer: { byDefault: MEBIBYTE, check: mustBeAtLeast(1024) },
  sendBuffer: { byDefault: 4 * MEBIBYTE, check: mustBeAtLeast(1024) },
  messageSize: { byDefault: MEBIBYTE, check: mustBeAtLeast(1024) },
  headerSize: { byDefault: 8 * 1024, check: mustBeAtLeast(1) },
  handshake: { byDefault: 5_000, check: mustBeMilliseconds(1) },
  incompleteMessage: { byDefault: 10_000, check: mustBeMilliseconds(1) },
  idle: { byDefault: 300_000, check: mustBeMilliseconds(0) },
  age: { byDefault: 0, check: mustBeMilliseconds(0) }
} as const satisfies OptionTable<WebSocketLimits>

/** The other options. */
export const WEBSOCKET_OPTIONS = {
  expose: {},
  path: { byDefault: '/rsocket', check: mustBe("a path such as '/rsocket'", isPath) },
  origins: { check: checkOrigins },
  authenticate: { check: mustBeFunction },
  resume: { byDefault: true, check: checkResume },
  limits: {}
} as const satisfies OptionTable<WebSocketOptions>

/** Options as a door uses them. */
export interface CheckedOptions
  extends Omit<FromTable<WebSocketOptions, typeof WEBSOCKET_OPTIONS>, 'expose' | 'resume' | 'limits'> {
  /** As routes. */
  readonly expose: readonly string[]
  readonly resume: Required<ServerResumeOptions> | undefined
  readonly limits: FromTable<WebSocketLimits, typeof WEBSOCKET_LIMITS>
}

/** @throws {OptionError} an option has a wrong value or an unknown name */
export function webSocketOptions(given: WebSocketOptions): CheckedOptions {
  const all = readTable('options', given, WEBSOCKET_OPTIONS)
  const { resume } = all
  return {
    ...all,
    expose: exposedRoutes(all.expose),
    resume:
      resume === false
        ? undefined
        : withDefaults('options.resume', resume === true ? {} : resume, SERVER_RESUME_DEFAULTS),
    limits: readTable('options.limits', all.limits, WEBSOCKET_LIMITS)
  } as CheckedOptions
}

function isPath(value: unknown): boolean {
  return typeof value === 'string' && /^\/[\w./~-]*$/.test(value)
}

function checkResume(path: string, value: unknown): void {
  if (typeof value === 'boolean') return
  if (typeof value !== 'object' || value === null)
    throw OptionError.expected(path, 'true, false or { window, bufferSize, waiting, waitingSize }', value)
  for (const [name, one] of Object.entries(value))
    if (one !== undefined) (name === 'window' ? milliseconds : atLeast)(0, `${path}.${name}`, one)
}

/**
 * The options of a door for WebSockets, and tables with their defaults and checks. A test compares
 * docs/websocket.md with these tables.
 */
import type { Authentication, Credentials, ServerResumeOptions } from '@elysia-microservices/rsocket'
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
  unlessFalse,
  withDefaults
} from '@elysia-microservices/transport/kit'
import { exposedRoutes } from './server/exposed.ts'
import { checkOrigins } from './server/origins.ts'

/** The HTTP request by which a client connects, and the client's address. */
export interface Upgrade {
  /** The URL of the request. */
  readonly url: string
  /** The headers of the request, with the cookies of a page. */
  readonly headers: Headers
  /**
   * The address from which the request was sent. Behind a proxy this is the proxy's address. `undefined` if it is
   * unknown.
   */
  readonly address: string | undefined
}

/** A client, or one of its requests, that has to be authenticated. */
export interface WebSocketAuthentication {
  /** The credentials that the client has sent; `undefined` if there are none. */
  readonly credentials: Credentials | undefined
  readonly upgrade: Upgrade
  /**
   * The pattern of a request that carries its own credentials; `undefined` when the whole connection is
   * authenticated.
   */
  readonly route: string | undefined
}

/** Authenticates a client. A result that refuses the client although it is not `false` or `undefined` is logged. */
export type WebSocketAuthenticate = (
  request: WebSocketAuthentication
) => Authentication | Promise<Authentication>

/** Limits of a door. They are far lower than those of TCP, because unknown clients can reach a door. */
export interface WebSocketLimits {
  /** Largest number of open connections; further ones are answered with 503. Default: 10,000. */
  readonly connections?: number | undefined
  /**
   * Largest number of open connections from one address. Behind a proxy all connections have the proxy's address.
   * Default: `false`, no limit.
   */
  readonly connectionsPerAddress?: number | false | undefined
  /**
   * Largest number of open connections of one user, if `authenticate` names users; further ones are refused in
   * SETUP. Default: 32.
   */
  readonly connectionsPerUser?: number | undefined
  /** Largest number of requests in flight on one connection; further ones are answered with `REJECTED`. Default: 64. */
  readonly inFlightPerConnection?: number | undefined
  /** Largest number of open streams on one connection; further ones are answered with `REJECTED`. Default: 32. */
  readonly streams?: number | undefined
  /**
   * Largest number of bytes that were received and wait to be handled, and largest size of a WebSocket message.
   * Default: 1,048,576.
   */
  readonly receiveBuffer?: number | undefined
  /**
   * Largest number of bytes that wait to be sent. A client that leaves more bytes unread is disconnected. Default:
   * 4,194,304.
   */
  readonly sendBuffer?: number | undefined
  /** Largest size in bytes of a request that is sent in fragments. Default: 1,048,576. */
  readonly messageSize?: number | undefined
  /** Largest size in bytes of route, headers and credentials. Default: 8,192. */
  readonly headerSize?: number | undefined
  /** Milliseconds within which a connection must be set up and authenticated. Default: 5,000. */
  readonly handshake?: number | undefined
  /** Milliseconds without progress after which an incomplete message ends its connection. Default: 10,000. */
  readonly incompleteMessage?: number | undefined
  /** Milliseconds without traffic, including keepalive, after which a connection is closed; `false`: never. Default: 300,000. */
  readonly idle?: number | false | undefined
  /**
   * Milliseconds, varied by a tenth, after which a client is told to connect again, with new credentials. Its open
   * requests and streams end on the old connection. Default: `false`, never.
   */
  readonly age?: number | false | undefined
}

/** Options of `websocket()`. */
export interface WebSocketOptions<Expose extends readonly Pattern[] = readonly Pattern[]> {
  /**
   * The patterns that clients may call: written as at their handlers, or with `*` for one segment and `>` for the
   * rest, such as `['shop.*']`. No other pattern of a service can be reached.
   */
  readonly expose: Expose
  /** The path to which clients connect. Default: `'/rsocket'`. */
  readonly path?: string | undefined
  /**
   * The origins of pages that may connect, such as `['https://shop.example']`; `'*'` for all. Programs, which send
   * neither origin nor cookies, may always connect. Default: only pages of the host to which they connect.
   */
  readonly origins?: readonly string[] | '*' | undefined
  /**
   * Authenticates a client, by its credentials or by the cookies and headers of its upgrade. Default: all clients
   * may connect.
   */
  readonly authenticate?: WebSocketAuthenticate | undefined
  /** Whether clients may resume lost connections. Default: true, for 60 s. */
  readonly resume?: boolean | ServerResumeOptions | undefined
  readonly limits?: WebSocketLimits | undefined
}

const MEBIBYTE = 1024 * 1024

/** The limits, with their defaults and checks. */
export const WEBSOCKET_LIMITS = {
  connections: { byDefault: 10_000, check: mustBeAtLeast(1) },
  connectionsPerAddress: { byDefault: false, check: unlessFalse(mustBeAtLeast(1)) },
  connectionsPerUser: { byDefault: 32, check: mustBeAtLeast(1) },
  inFlightPerConnection: { byDefault: 64, check: mustBeAtLeast(1) },
  streams: { byDefault: 32, check: mustBeAtLeast(1) },
  receiveBuffer: { byDefault: MEBIBYTE, check: mustBeAtLeast(1024) },
  sendBuffer: { byDefault: 4 * MEBIBYTE, check: mustBeAtLeast(1024) },
  messageSize: { byDefault: MEBIBYTE, check: mustBeAtLeast(1024) },
  headerSize: { byDefault: 8 * 1024, check: mustBeAtLeast(1) },
  handshake: { byDefault: 5_000, check: mustBeMilliseconds(1) },
  incompleteMessage: { byDefault: 10_000, check: mustBeMilliseconds(1) },
  idle: { byDefault: 300_000, check: unlessFalse(mustBeMilliseconds(1)) },
  age: { byDefault: false, check: unlessFalse(mustBeMilliseconds(1)) }
} as const satisfies OptionTable<WebSocketLimits>

/** The other options, with their defaults and checks. */
export const WEBSOCKET_OPTIONS = {
  expose: {},
  path: { byDefault: '/rsocket', check: mustBe("a path such as '/rsocket'", isPath) },
  origins: { check: checkOrigins },
  authenticate: { check: mustBeFunction },
  resume: { byDefault: true, check: checkResume },
  limits: {}
} as const satisfies OptionTable<WebSocketOptions>

/** The checked options of a door. */
export interface CheckedOptions
  extends Omit<FromTable<WebSocketOptions, typeof WEBSOCKET_OPTIONS>, 'expose' | 'resume' | 'limits'> {
  /** The exposed patterns as routes. */
  readonly expose: readonly string[]
  readonly resume: Required<ServerResumeOptions> | undefined
  /** 0 means no limit. */
  readonly limits: { readonly [Name in keyof WebSocketLimits]-?: number }
}

/** Checks the options, and fills in defaults. @throws {OptionError} an option has a wrong value or an unknown name */
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
    limits: Object.fromEntries(
      Object.entries(readTable('options.limits', all.limits, WEBSOCKET_LIMITS)).map(([name, limit]) => [
        name,
        Number(limit)
      ])
    )
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

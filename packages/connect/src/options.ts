/** The options of `connectRpc()`, and tables with their defaults and checks. A test compares docs/other-languages.md with these tables. */

import type { ProtoService, ProtoSource, RpcCode } from '@elysia-microservices/protobuf'
import { isRpcCode, servicesOf } from '@elysia-microservices/protobuf/rpc'
import {
  type FromTable,
  mustBeAtLeast,
  mustBeFunction,
  mustBeMilliseconds,
  OptionError,
  type OptionTable,
  type Pattern,
  readTable,
  unlessFalse
} from '@elysia-microservices/transport/kit'
import type { UntypedClient } from 'elysia-microservices/client'

/** A method for which a pattern is chosen. */
export interface ConnectRpcMethod {
  /** The full name of the service, such as `shop.v1.Orders`. */
  readonly service: string
  /** The name of the method as in the `.proto`, such as `GetTotal`. */
  readonly name: string
  /** The pattern that it has without the option. */
  readonly pattern: string
}

/** Limits of calls. */
export interface ConnectRpcLimits {
  /** Largest size of a message in bytes, when it is not compressed any more. Default: 4,194,304. */
  readonly messageSize?: number | undefined
  /** Largest number of calls in flight; further ones are answered `unavailable`. Default: 10,000. */
  readonly inFlight?: number | undefined
  /** Largest number of bytes that an Observable may be ahead of its reader. Default: 4,194,304. */
  readonly sendBuffer?: number | undefined
}

/** Options of `connectRpc()`. */
export interface ConnectRpcOptions {
  /** The services whose methods can be called: from `loadProto()`, `protoOf()` or protobuf-es; one or a list. */
  readonly proto: ProtoSource | readonly ProtoSource[]
  /**
   * Calls the services behind this client, and not those of the app. With a function the app makes the client, and
   * closes it when it stops. Default: the services of the app answer.
   */
  readonly client?: UntypedClient | (() => UntypedClient) | undefined
  /**
   * Chooses the pattern of a method. Default: `shop.v1.Orders/GetTotal`, or the pattern in a `.proto` that was made from
   * a service; if no handler has it, `Orders/GetTotal` or the pattern of Nest's `@GrpcMethod('Orders', 'GetTotal')`.
   */
  readonly pattern?: ((method: ConnectRpcMethod) => Pattern) | undefined
  /**
   * Headers for handlers in addition to those of the request, such as the user that a hook of the app has found. The
   * function gets the context of Elysia. Default: none.
   */
  readonly headers?:
    | ((context: ConnectRpcContext) => Readonly<Record<string, string | undefined>>)
    | undefined
  /** Connect's codes for the error codes of the application. They take precedence over the table of codes. */
  readonly errors?: Readonly<Record<string, RpcCode>> | undefined
  /**
   * Longest time of a call in milliseconds; longer deadlines of callers are shortened. `false`: as long as the caller
   * allows. Default: `false`.
   */
  readonly timeout?: number | false | undefined
  /** Bytes from which on messages are compressed for clients that take gzip; `false`: never. Default: 1,024. */
  readonly compressFrom?: number | false | undefined
  readonly limits?: ConnectRpcLimits | undefined
}

/** The context of an Elysia handler, with everything that hooks of the app have added. */
export interface ConnectRpcContext {
  readonly request: Request
  readonly [name: string]: unknown
}

const MEBIBYTE = 1024 * 1024

/** The limits, with their defaults and checks. */
export const CONNECT_LIMITS = {
  messageSize: { byDefault: 4 * MEBIBYTE, check: mustBeAtLeast(1) },
  inFlight: { byDefault: 10_000, check: mustBeAtLeast(1) },
  sendBuffer: { byDefault: 4 * MEBIBYTE, check: mustBeAtLeast(1024) }
} as const satisfies OptionTable<ConnectRpcLimits>

/** The other options, with their defaults and checks. */
export const CONNECT_OPTIONS = {
  proto: { isNeeded: true, check: checkProto },
  client: { check: checkClient },
  pattern: { check: mustBeFunction },
  headers: { check: mustBeFunction },
  errors: { check: checkErrors },
  timeout: { byDefault: false, check: unlessFalse(mustBeMilliseconds(1)) },
  compressFrom: { byDefault: 1024, check: unlessFalse(mustBeAtLeast(0)) },
  limits: {}
} as const satisfies OptionTable<ConnectRpcOptions>

/** The checked options. */
export interface CheckedOptions
  extends Omit<FromTable<ConnectRpcOptions, typeof CONNECT_OPTIONS>, 'proto' | 'limits'> {
  readonly services: readonly ProtoService[]
  readonly limits: { readonly [Name in keyof ConnectRpcLimits]-?: number }
}

/** Checks the options, and fills in defaults. @throws {OptionError} an option has a wrong value or an unknown name */
export function connectOptions(given: ConnectRpcOptions): CheckedOptions {
  const all = readTable('options', given, CONNECT_OPTIONS)
  return {
    ...all,
    services: servicesOf(all.proto, 'options.proto').services,
    limits: readTable('options.limits', all.limits, CONNECT_LIMITS)
  } as CheckedOptions
}

function checkProto(path: string, value: unknown): void {
  if (typeof value === 'object' && value !== null) return
  throw OptionError.expected(path, 'services of protobuf, as from loadProto() or protobuf-es', value)
}

function checkClient(path: string, value: unknown): void {
  if (typeof value === 'function' || typeof Object(value).request === 'function') return
  throw OptionError.expected(path, 'a client made by connect(), or a function that makes one', value)
}

function checkErrors(path: string, value: unknown): void {
  if (typeof value !== 'object' || value === null)
    throw OptionError.expected(path, "an object of Connect's codes by the codes of errors", value)
  for (const [code, one] of Object.entries(value))
    if (!isRpcCode(one))
      throw OptionError.expected(`${path}.${code}`, "a code of Connect such as 'not_found'", one)
}

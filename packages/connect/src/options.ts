/** The options of `connectRpc()`, and tables with their defaults and checks. A test compares docs/other-languages.md with these tables. */

import { type Proto, type ProtoService, protoOf } from '@elysia-microservices/protobuf'
import { isRpcCode, type RpcCode } from '@elysia-microservices/protobuf/rpc'
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

type Generated = Exclude<Parameters<typeof protoOf>[0], Uint8Array>

/** Services of protobuf: the result of `loadProto()` or `protoOf()`, or services as protobuf-es generates them. */
export type ConnectRpcServices = Proto | Generated

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
  /** The services whose methods can be called. */
  readonly services: ConnectRpcServices | readonly ConnectRpcServices[]
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
  services: { isNeeded: true, check: checkServices },
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
  extends Omit<FromTable<ConnectRpcOptions, typeof CONNECT_OPTIONS>, 'services' | 'limits'> {
  readonly services: readonly ProtoService[]
  readonly limits: { readonly [Name in keyof ConnectRpcLimits]-?: number }
}

/** Checks the options, and fills in defaults. @throws {OptionError} an option has a wrong value or an unknown name */
export function connectOptions(given: ConnectRpcOptions): CheckedOptions {
  const all = readTable('options', given, CONNECT_OPTIONS)
  return {
    ...all,
    services: servicesOf(all.services),
    limits: readTable('options.limits', all.limits, CONNECT_LIMITS)
  } as CheckedOptions
}

/** @throws {OptionError} there is no service, a service is given twice, or descriptors cannot be read */
function servicesOf(given: ConnectRpcOptions['services']): readonly ProtoService[] {
  const services = ([given].flat(2) as unknown as readonly One[]).flatMap(servicesIn)
  if (services.length === 0)
    throw new OptionError('options.services', 'options.services has no service: give at least one')
  const names = services.map(({ name }) => name)
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined)
    throw new OptionError('options.services', `options.services has the service ${twice} twice`)
  return services
}

/** A `Proto`, or one thing that protobuf-es has generated. */
type One = Proto | Exclude<Generated, readonly unknown[]>

function servicesIn(one: One): readonly ProtoService[] {
  if (isProto(one)) return one.services
  const { services } = protoOf(one)
  // A generated service comes with its file, which may have further services that must not be open.
  return one.kind === 'service' ? services.filter(({ name }) => name === one.typeName) : services
}

function isProto(value: unknown): value is Proto {
  const { services, descriptors } = Object(value) as Partial<Proto>
  return Array.isArray(services) && typeof descriptors === 'function'
}

function checkServices(path: string, value: unknown): void {
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

/** The option `keepalive` of either end. */
import { checkNames, milliseconds, OptionError } from '@elysia-microservices/transport/kit'
import type { KeepaliveTimes } from '../http2/keepalive.ts'

/** When the other end is asked by PING for a sign of life. */
export interface GrpcKeepaliveOptions {
  /**
   * Milliseconds without a byte from the other end, after which it is asked. A client asks only while calls are in flight.
   * Default: at a client 330,000, because most gRPC servers cut clients that ask more often than every 5 minutes; at a
   * server 7,200,000, as in other gRPC libraries.
   */
  readonly interval?: number | undefined
  /** Milliseconds that it has for its answer; then the connection ends. Default: 20,000. */
  readonly timeout?: number | undefined
}

/** The defaults of a client. */
export const CLIENT_KEEPALIVE: KeepaliveTimes = { interval: 330_000, timeout: 20_000 }
/** The defaults of a server. */
export const SERVER_KEEPALIVE: KeepaliveTimes = { interval: 7_200_000, timeout: 20_000 }

/**
 * @returns with the interval `Infinity` for no keepalive
 * @throws {OptionError} an option has a wrong value or an unknown name
 */
export function keepaliveOptions(
  given: false | GrpcKeepaliveOptions | undefined,
  defaults: KeepaliveTimes
): KeepaliveTimes {
  if (given === false) return { ...defaults, interval: Number.POSITIVE_INFINITY }
  const path = 'options.keepalive'
  if (given !== undefined && (typeof given !== 'object' || given === null))
    throw OptionError.expected(path, 'false or { interval, timeout }', given)
  checkNames(path, given ?? {}, ['interval', 'timeout'])
  const { interval = defaults.interval, timeout = defaults.timeout } = given ?? {}
  milliseconds(1, `${path}.interval`, interval)
  milliseconds(1, `${path}.timeout`, timeout)
  return { interval, timeout }
}

/** TCP, the transport that comes with this package. The only file of it that knows TCP. */
import {
  type TcpClientOptions,
  type TcpServerOptions,
  type TcpServerStats,
  tcp
} from '@elysia-microservices/tcp'
import { checkTcpNames } from '@elysia-microservices/tcp/kit'
import {
  nearest,
  OptionError,
  type Transport,
  type TransportStats
} from '@elysia-microservices/transport/kit'

export * from '@elysia-microservices/tcp'

/** What stands for TCP where a transport is given: `'tcp'`, with its options beside it. */
export type TcpName = 'tcp'

/** The figures of a transport, whichever it is. Those that only TCP has are `undefined` of others. */
export type AnyTransportStats = TransportStats & Partial<TcpServerStats>

/** Options of a service on TCP in the short form. */
export interface ShortServerOptions extends TcpServerOptions {
  /** How messages come: `'tcp'`, with the options of TCP beside it. */
  readonly transport: TcpName
}

/** Options of a client over TCP in the short form. */
export interface ShortClientOptions extends TcpClientOptions {
  /** How messages travel. Default: `'tcp'`, with the options of TCP beside it. */
  readonly transport?: TcpName | undefined
}

/**
 * The transport that the short form stands for.
 * @param beside the names of the options that stand beside TCP's
 * @throws {OptionError} there is no option of a name
 */
export function shortForm(
  options: TcpServerOptions | TcpClientOptions,
  end: 'server' | 'client',
  beside: readonly string[]
): Transport {
  checkTcpNames(options, end, beside)
  return tcp(options)
}

/** The error for an option that stands beside the value of a transport, and is none of those that may. */
export function strayOption(
  name: string,
  whose: 'a service' | 'a client',
  own: readonly string[]
): OptionError {
  const near = isOfTcp(name) ? undefined : nearest(name, own)
  const hint =
    near === undefined
      ? 'options of a transport are given to it, as in tcp({ port: 4000 })'
      : `did you mean options.${near}?`
  return new OptionError(`options.${name}`, `options.${name} is not an option of ${whose}; ${hint}`)
}

function isOfTcp(name: string): boolean {
  try {
    checkTcpNames({ [name]: true })
    return true
  } catch {
    return false
  }
}

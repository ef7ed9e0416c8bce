/**
 * The short form `transport: 'tcp'`, with TCP's options beside it. This is the only file of the package that knows
 * TCP.
 */
import {
  type TcpClientOptions,
  type TcpServerOptions,
  type TcpServerStats,
  tcp
} from '@elysia-microservices/tcp'
import { shortForm as shortFormOfTcp } from '@elysia-microservices/tcp/kit'
import {
  type CodecName,
  nearest,
  OptionError,
  type TransportStats
} from '@elysia-microservices/transport/kit'
import { NEST_OPTION_NAMES } from '@elysia-microservices/transport/nest'

/** The value of the option `transport` in the short form; TCP's options are then given beside it. */
export type TcpName = 'tcp'

/** The figures of any transport. Figures that only TCP has are `undefined` for others. */
export type AnyTransportStats = TransportStats & Partial<TcpServerStats>

/** Options of a service on TCP in the short form. */
export interface ShortServerOptions extends TcpServerOptions {
  /** The transport that carries messages: `'tcp'`, with TCP's options beside it. */
  readonly transport: TcpName
}

/** Options of a client over TCP in the short form. */
export interface ShortClientOptions<Codec extends CodecName = CodecName> extends TcpClientOptions<Codec> {
  /** The transport that carries the calls: `'tcp'`, with TCP's options beside it. Default: `'tcp'`. */
  readonly transport?: TcpName | undefined
}

/**
 * Makes the TCP transport from the options that are neither the service's nor the client's own.
 * @throws {OptionError} an option is unknown or invalid
 */
export const shortForm: typeof shortFormOfTcp = (options, side, own) => {
  for (const [name, value] of Object.entries(options)) {
    const ours = Object.hasOwn(NEST_OPTION_NAMES, name) ? NEST_OPTION_NAMES[name] : undefined
    if (ours !== undefined && value !== undefined)
      throw new OptionError(`options.${name}`, `options.${name} of Nest is called options.${ours} here`)
  }
  return shortFormOfTcp(options, side, own)
}

/** The error for an unknown option beside a transport value. */
export function strayOption(
  name: string,
  whose: 'a service' | 'a client',
  own: readonly string[]
): OptionError {
  const near = isOfTcp(name) ? undefined : nearest(name, own)
  const hint =
    near === undefined
      ? 'pass the options of a transport to the transport, as in tcp({ port: 4000 })'
      : `did you mean options.${near}?`
  return new OptionError(`options.${name}`, `options.${name} is not an option of ${whose}; ${hint}`)
}

function isOfTcp(name: string): boolean {
  try {
    tcp({ [name]: true })
    return true
  } catch {
    return false
  }
}

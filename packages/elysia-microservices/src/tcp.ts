/** TCP, the transport that comes with this package. The only file of it that knows TCP. */
import { type TcpClientOptions, type TcpServerOptions, tcp } from '@elysia-microservices/tcp'
import { nearest, OptionError, type Transport } from '@elysia-microservices/transport/kit'

// By name: `export *` of another package is lost where entry points are bundled.
export type * from '@elysia-microservices/tcp'
export { TlsFailure, tcp } from '@elysia-microservices/tcp'

/** What stands for TCP where a transport is given: `'tcp'`, with its options beside it. */
export type TcpName = 'tcp'

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
 * @throws {OptionError} there is no option of that name
 */
export function shortForm(
  options: TcpServerOptions | TcpClientOptions,
  beside: readonly string[]
): Transport {
  try {
    return tcp(options)
  } catch (error) {
    const { path } = error as OptionError
    const near = nearest(path.slice('options.'.length), beside)
    if (near === undefined) throw error
    throw new OptionError(path, `${path} is not an option; did you mean options.${near}?`)
  }
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
    tcp({ [name]: true })
    return true
  } catch {
    return false
  }
}

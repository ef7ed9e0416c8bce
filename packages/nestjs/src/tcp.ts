/** TCP, the transport that comes with this package. The only file of it that knows TCP. */
import { type TcpClientOptions, type TcpServerOptions, tcp } from '@elysia-microservices/tcp'
import { checkTcpNames } from '@elysia-microservices/tcp/kit'
import type { Transport } from '@elysia-microservices/transport'

/** Options of a server on TCP in the short form. */
export interface ShortServerOptions extends TcpServerOptions {
  /** How messages come. Default: `'tcp'`, with the options of TCP beside it. */
  readonly transport?: 'tcp' | undefined
}

/** Options of a client over TCP in the short form. */
export interface ShortClientOptions extends TcpClientOptions {
  /** How messages travel. Default: `'tcp'`, with the options of TCP beside it. */
  readonly transport?: 'tcp' | undefined
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

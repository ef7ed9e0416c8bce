/** TCP, the transport that comes with this package. The only file of it that knows TCP. */
import { type TcpClientOptions, type TcpServerOptions, tcp } from '@elysia-microservices/tcp'
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

/** The transport that the short form stands for. @throws {OptionError} there is no option of that name */
export function shortForm(options: TcpServerOptions | TcpClientOptions): Transport {
  return tcp(options)
}

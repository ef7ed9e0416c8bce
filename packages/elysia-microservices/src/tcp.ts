/** TCP, the transport that comes with this package. The only file of it that knows TCP. */
import { type TcpClientOptions, type TcpServerOptions, tcp } from '@elysia-microservices/tcp'
import type { Transport } from '@elysia-microservices/transport'

export * from '@elysia-microservices/tcp'

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

/** The transport that the short form stands for. @throws {OptionError} there is no option of that name */
export function shortForm(options: TcpServerOptions | TcpClientOptions): Transport {
  return tcp(options)
}

/** TCP's options without a transport's value: the only file of this package that knows TCP. */
import type { TcpClientOptions, TcpServerOptions } from '@elysia-microservices/tcp'

export { shortForm } from '@elysia-microservices/tcp/kit'

/** Options of a server on TCP in the short form. */
export interface ShortServerOptions extends TcpServerOptions {
  /** The transport of messages. Default: `'tcp'`, with the options of TCP beside it. */
  readonly transport?: 'tcp' | undefined
}

/** Options of a client over TCP in the short form. */
export interface ShortClientOptions extends TcpClientOptions {
  /** The transport of messages. Default: `'tcp'`, with the options of TCP beside it. */
  readonly transport?: 'tcp' | undefined
}

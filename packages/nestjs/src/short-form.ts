/** Options of TCP that are given directly, without `tcp()`. This is the only file of the package that imports TCP. */
import type { TcpClientOptions, TcpServerOptions } from '@elysia-microservices/tcp'

export { shortForm } from '@elysia-microservices/tcp/kit'

/** Options of a server on TCP, given without `tcp()`. */
export interface ShortServerOptions extends TcpServerOptions {
  /** The transport for messages. Default: `'tcp'`, with the options of TCP next to it. */
  readonly transport?: 'tcp' | undefined
}

/** Options of a client on TCP, given without `tcp()`. */
export interface ShortClientOptions extends TcpClientOptions {
  /** The transport for calls. Default: `'tcp'`, with the options of TCP next to it. */
  readonly transport?: 'tcp' | undefined
}

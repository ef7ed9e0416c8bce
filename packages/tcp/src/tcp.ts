/** `tcp()` makes the transport over TCP for services and clients. */
import {
  type Address,
  type Carrying,
  type ClientContext,
  type ClientTransport,
  type CodecName,
  OptionError,
  type ServerContext,
  type ServerTransport,
  type Traits,
  type Transport
} from '@elysia-microservices/transport/kit'
import { TcpClient } from './client/client.ts'
import { CLIENT_OPTION_NAMES, clientOptions, type TcpClientOptions } from './options/client-options.ts'
import { checkOptionNames } from './options/option-names.ts'
import type { Source } from './options/security-options.ts'
import { SERVER_OPTION_NAMES, serverOptions, type TcpServerOptions } from './options/server-options.ts'
import { TcpServer } from './server/server.ts'
import type { TcpServerStats } from './server/server-stats.ts'
import type { TlsServerOptions } from './socket/tls.ts'

/** The transport over TCP, for one service or for any number of clients. */
export interface TcpTransport<Codec extends CodecName = 'json'> extends Transport, Carrying<Codec> {
  readonly name: 'tcp'
  /** The address at which its service listens, with the real port; `undefined` while it does not listen. */
  readonly address: Address | undefined
  /**
   * Changes the certificate for new connections, in a supervisor also for all workers. Open connections keep the old
   * certificate. If the change fails, the old certificate stays in use.
   * @param tls the new TLS options; needed unless `options.tls` is a function, which is called again
   * @throws {OptionError} the server has no TLS, or the new options cannot be used
   */
  reloadTls(tls?: Source<TlsServerOptions>): Promise<void>
  /**
   * Returns current figures of the service, with their limits. Visits every connection.
   * @throws {OptionError} no service uses this `tcp()`
   */
  stats(): TcpServerStats
}

/**
 * Makes the TCP transport: one port that speaks Nest's wire and RSocket.
 * @throws {OptionError} an option has an unknown name
 * @example
 * ```ts
 * import { microservice } from 'elysia-microservices'
 * import { tcp } from 'elysia-microservices/tcp'
 *
 * const door = tcp({ port: 0, limits: { idle: 60_000 } })
 * await microservice({ transport: door }).listen()
 * console.log(door.address, door.stats().connections)
 * ```
 */
export function tcp<const Codec extends CodecName = 'json'>(
  options: TcpServerOptions | TcpClientOptions<Codec> = {}
): TcpTransport<Codec> {
  checkOptionNames(options, [SERVER_OPTION_NAMES, CLIENT_OPTION_NAMES])
  return new Tcp(options)
}

const TRAITS: Traits = {
  wildcards: false,
  hearsNobody: true,
  shares: 'caller',
  headers: true,
  // Channels work only between clients and services of this library.
  channels: true,
  answerHeaders: true
}

class Tcp implements TcpTransport {
  readonly name = 'tcp'
  readonly traits = TRAITS
  readonly #options: TcpServerOptions | TcpClientOptions
  #server: TcpServer | undefined

  constructor(options: TcpServerOptions | TcpClientOptions) {
    this.#options = options
  }

  get address(): Address | undefined {
    return this.#server?.address
  }

  reloadTls(tls?: Source<TlsServerOptions>): Promise<void> {
    return this.#theServer('reloadTls').reloadTls(tls)
  }

  stats(): TcpServerStats {
    return this.#theServer('stats').stats()
  }

  server({ logger }: ServerContext): ServerTransport {
    if (this.#server !== undefined)
      throw new OptionError(
        'options.transport',
        'This tcp() is already used by another service: each service needs its own tcp()'
      )
    this.#server = new TcpServer(serverOptions(this.#options as TcpServerOptions), logger)
    return this.#server
  }

  client(context: ClientContext): ClientTransport {
    return new TcpClient(clientOptions(this.#options as TcpClientOptions), context)
  }

  #theServer(method: string): TcpServer {
    if (this.#server !== undefined) return this.#server
    throw new OptionError('tcp', `${method}() needs a service: give this tcp() to microservice() first`)
  }
}

/**
 * Makes the transport for `transport: 'tcp'`, whose options stand next to those of a service or a client.
 * @param end the kind of user: a service or a client
 * @param beside names of the options that do not belong to TCP, for hints
 * @throws {OptionError} an option is unknown
 */
export function shortForm(
  options: TcpServerOptions | TcpClientOptions,
  end: 'server' | 'client',
  beside: readonly string[]
): TcpTransport<CodecName> {
  checkOptionNames(options, [end === 'server' ? SERVER_OPTION_NAMES : CLIENT_OPTION_NAMES], beside)
  return tcp(options)
}

/** `grpc()` makes the transport over gRPC for services and clients. */
import type { Source, TlsServerOptions } from '@elysia-microservices/tcp'
import {
  type Address,
  type Carrying,
  type ClientContext,
  type ClientTransport,
  OptionError,
  type ServerContext,
  type ServerTransport,
  type Traits,
  type Transport
} from '@elysia-microservices/transport/kit'
import { GrpcClient } from './client/client.ts'
import { byPatterns, withDescription } from './description.ts'
import {
  checkGrpcOptions,
  type GrpcClientOptions,
  type GrpcServerOptions,
  grpcClientOptions,
  grpcServerOptions
} from './options/options.ts'
import { GrpcServer } from './server/server.ts'
import type { GrpcServerStats } from './server/server-stats.ts'

/** The transport over gRPC, for one service or for any number of clients. */
export interface GrpcTransport extends Transport, Carrying<'application/protobuf'> {
  readonly name: 'grpc'
  /** The address at which its service listens, with the real port; `undefined` while it does not listen. */
  readonly address: Address | undefined
  /**
   * Changes the certificate for new connections, in a supervisor also for all workers. Open connections keep the old
   * certificate. If the change fails, the old certificate stays in use.
   * @param tls the new TLS options; needed unless `options.tls` is a function, which is called again
   * @throws {OptionError} the server has no TLS, or the new options cannot be used
   */
  reloadTls(tls?: Source<TlsServerOptions>): Promise<void>
  /** Returns current figures of the service, with their limits. @throws {OptionError} no service uses this `grpc()` */
  stats(): GrpcServerStats
}

const TRAITS: Traits = {
  wildcards: false,
  hearsNobody: true,
  shares: 'caller',
  headers: true,
  channels: true,
  answerHeaders: true
}

/**
 * Makes the transport over gRPC: for a service whose handlers have the patterns of methods in a `.proto`, and for clients
 * of such services in any language.
 * @throws {OptionError} an option has an unknown name; other mistakes are found when a service or a client gets the value
 * @example
 * ```ts
 * import { grpc } from '@elysia-microservices/grpc'
 * import { loadProto } from '@elysia-microservices/protobuf'
 * import { type Message, microservice } from 'elysia-microservices'
 *
 * const proto = await loadProto({ files: 'shop.proto' })
 * const orders = microservice({ name: 'orders', transport: grpc({ proto, port: 50051 }) }).message(
 *   'shop.v1.Orders/GetTotal',
 *   ({ data }: Message<{ id: string }>) => ({ total: data.id.length })
 * )
 * await orders.listen()
 * ```
 */
export function grpc(options: GrpcServerOptions | GrpcClientOptions): GrpcTransport {
  checkGrpcOptions(options)
  return new Grpc(options)
}

class Grpc implements GrpcTransport {
  readonly name = 'grpc'
  readonly traits = TRAITS
  readonly #options: GrpcServerOptions | GrpcClientOptions
  #server: GrpcServer | undefined

  constructor(options: GrpcServerOptions | GrpcClientOptions) {
    this.#options = options
  }

  get address(): Address | undefined {
    return this.#server?.address
  }

  reloadTls(tls?: Source<TlsServerOptions>): Promise<void> {
    return this.#theServer('reloadTls').reloadTls(tls)
  }

  stats(): GrpcServerStats {
    return this.#theServer('stats').stats()
  }

  server({ logger }: ServerContext): ServerTransport {
    if (this.#server !== undefined)
      throw new OptionError(
        'options.transport',
        'This grpc() is already used by another service: each service needs its own grpc()'
      )
    const options = grpcServerOptions(this.#options as GrpcServerOptions)
    this.#server = new GrpcServer({ ...options, methods: withDescription(options.methods) }, logger)
    return this.#server
  }

  client(context: ClientContext): ClientTransport {
    const options = grpcClientOptions(this.#options as GrpcClientOptions)
    return new GrpcClient({ ...options, methods: byPatterns(options.methods) }, context)
  }

  #theServer(method: string): GrpcServer {
    if (this.#server !== undefined) return this.#server
    throw new OptionError('grpc', `${method}() needs a service: give this grpc() to microservice() first`)
  }
}

/** The gRPC client: it connects to one or more endpoints at the first call, and connects again after a loss. */
import { reasonOf } from '@elysia-microservices/rsocket'
import { PoolClient } from '@elysia-microservices/rsocket/pool'
import { newTimer } from '@elysia-microservices/rsocket/session'
import { type CheckedClientOptions, systemResolver } from '@elysia-microservices/tcp/kit'
import type { ClientContext } from '@elysia-microservices/transport/kit'
import type { GrpcMethods } from '../methods.ts'
import { GrpcClientConnection } from './grpc-client-connection.ts'
import { GrpcLink } from './link.ts'

const SCHEME = 'grpc://'

/** Calls servers over gRPC. */
export class GrpcClient extends PoolClient {
  /** @throws {OptionError} an endpoint is not `host:port` */
  constructor(options: CheckedClientOptions, methods: GrpcMethods, context: ClientContext) {
    const { host, port, resilience, connectTimeout, limits, tls } = options
    const { logger, timeout } = context
    super(
      {
        name: 'grpc',
        resilience,
        own: { host, port },
        scheme: SCHEME,
        connectTimeout,
        resolver: systemResolver,
        newLink: (address, parts) =>
          new GrpcLink({ ...options, host: address.host, port: address.port }, logger, parts),
        newProtocol: (parts) =>
          new GrpcClientConnection({
            ...parts,
            methods,
            logger,
            limits: { receiveBuffer: limits.receiveBuffer, sendBuffer: limits.sendBuffer },
            maxMessageSize: limits.messageSize,
            maxHeldSize: limits.sendBuffer,
            timeout,
            authority: parts.where.startsWith(SCHEME) ? parts.where.slice(SCHEME.length) : 'localhost',
            isSecure: tls !== undefined && tls !== false,
            reasonOf,
            newTimer
          }),
        streamBuffer: limits.streamBuffer
      },
      context
    )
  }
}

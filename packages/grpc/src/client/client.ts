/** The gRPC client: it connects to one or more endpoints at the first call, and connects again after a loss. */
import { reasonOf } from '@elysia-microservices/rsocket'
import { PoolClient } from '@elysia-microservices/rsocket/pool'
import { newTimer } from '@elysia-microservices/rsocket/session'
import { systemResolver } from '@elysia-microservices/tcp/kit'
import type { ClientContext } from '@elysia-microservices/transport/kit'
import type { CheckedGrpcClientOptions } from '../options/options.ts'
import { GrpcClientConnection } from './grpc-client-connection.ts'
import { GrpcLink } from './link.ts'

const SCHEME = 'grpc://'

/** Calls servers over gRPC. */
export class GrpcClient extends PoolClient {
  /** @throws {OptionError} an endpoint is not `host:port` */
  constructor(options: CheckedGrpcClientOptions, context: ClientContext) {
    const { host, port, resilience, connectTimeout, limits, tls, methods, packsFrom } = options
    const { logger, timeout } = context
    let { keepalive } = options
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
            packsFrom,
            keepalive,
            pingsTooOften() {
              keepalive = { ...keepalive, interval: 2 * keepalive.interval }
            },
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

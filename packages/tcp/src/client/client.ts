/** The TCP client: it connects to one or more endpoints at the first call, and connects again after a loss. */

import {
  answersWithin,
  ClientConnection,
  clientResponder,
  reasonOf,
  toWireError,
  writeCaller,
  writeDefaultTimeout
} from '@elysia-microservices/rsocket'
import { type NewProtocol, PoolClient } from '@elysia-microservices/rsocket/pool'
import { newTimer } from '@elysia-microservices/rsocket/session'
import type { ClientContext } from '@elysia-microservices/transport/kit'
import { NestRequester } from '../nest/requester.ts'
import type { CheckedClientOptions } from '../options/client-options.ts'
import { TcpLink } from './link.ts'
import { systemResolver } from './system-resolver.ts'

/** Calls servers over TCP. */
export class TcpClient extends PoolClient {
  /** @throws {OptionError} an endpoint is not `host:port` */
  constructor(options: CheckedClientOptions, context: ClientContext) {
    const { host, port, resilience, connectTimeout, limits } = options
    super(
      {
        name: 'tcp',
        resilience,
        own: { host, port },
        scheme: 'tcp://',
        connectTimeout,
        resolver: systemResolver,
        newLink: ({ host, port }, parts) => new TcpLink({ ...options, host, port }, context.logger, parts),
        newProtocol: newProtocol(options, context),
        streamBuffer: limits.streamBuffer
      },
      context
    )
  }
}

function newProtocol(options: CheckedClientOptions, context: ClientContext): NewProtocol {
  const { limits, rsocket, fragmentSize, dataMimeType } = options
  const { name, timeout, dispatcher, logger } = context
  const common = { timeout, newTimer, maxBufferSize: limits.receiveBuffer, maxUnsent: limits.sendBuffer }
  if (options.protocol === 'nest') return (parts) => new NestRequester({ ...common, ...parts })
  return (parts) =>
    new ClientConnection({
      ...common,
      ...parts,
      logger,
      introduce(out) {
        writeCaller(out, name)
        writeDefaultTimeout(out, timeout)
      },
      knownTimeout: timeout,
      responder: dispatcher && clientResponder('tcp', dispatcher),
      dataMimeType,
      toWireError,
      reasonOf,
      maxMessageSize: limits.messageSize,
      ...(fragmentSize === undefined ? {} : { maxFrameLength: fragmentSize }),
      keepaliveInterval: rsocket.keepalive.interval,
      keepaliveLifetime: rsocket.keepalive.lifetime,
      answers: answersWithin(options.connectTimeout),
      lease: rsocket.lease,
      resume: rsocket.resume
    })
}

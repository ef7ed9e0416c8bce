/** The TCP client: connections to one or more endpoints, made at the first call and again when lost. */

import { ClientConnection, clientResponder, toWireError } from '@elysia-microservices/rsocket'
import { type NewProtocol, Pool } from '@elysia-microservices/rsocket/pool'
import { newTimer } from '@elysia-microservices/rsocket/session'
import {
  type ClientContext,
  type ClientListener,
  type ClientStatus,
  type ClientTransport,
  Notices,
  PendingCaller
} from '@elysia-microservices/transport/kit'
import { NestRequester } from '../nest/requester.ts'
import type { CheckedClientOptions } from '../options/client-options.ts'
import { TcpLink } from './link.ts'
import { systemResolver } from './system-resolver.ts'

/** Calls servers over TCP. */
export class TcpClient extends PendingCaller implements ClientTransport {
  readonly name = 'tcp'
  readonly #notices: Notices
  readonly #pool: Pool

  /** @throws {OptionError} an endpoint is not `host:port` */
  constructor(options: CheckedClientOptions, context: ClientContext) {
    const notices = new Notices(context.logger)
    const { host, port, resilience, connectTimeout } = options
    const pool = new Pool(
      {
        resilience,
        own: { host, port },
        scheme: 'tcp://',
        connectTimeout,
        resolver: systemResolver,
        newLink: ({ host, port }, parts) => new TcpLink({ ...options, host, port }, context.logger, parts)
      },
      context,
      notices,
      newProtocol(options, context)
    )
    super(pool.call, context.timeout, options.limits.streamBuffer)
    this.#notices = notices
    this.#pool = pool
  }

  get status(): ClientStatus {
    return this.#notices.status
  }

  onEvent(listener: ClientListener): () => void {
    return this.#notices.listen(listener)
  }

  connect(): Promise<void> {
    return this.#pool.connect()
  }

  close(): Promise<void> {
    return this.#pool.close()
  }
}

function newProtocol(options: CheckedClientOptions, context: ClientContext): NewProtocol {
  const { limits, rsocket, fragmentSize, dataMimeType } = options
  const { name, timeout, tellTimeout, dispatcher, logger } = context
  const common = { timeout, newTimer, maxBufferSize: limits.receiveBuffer, maxUnsent: limits.sendBuffer }
  if (options.protocol === 'nest')
    return ({ where, endpoint, recover }) => new NestRequester({ ...common, where, endpoint, recover })
  return (parts) =>
    new ClientConnection({
      ...common,
      ...parts,
      logger,
      name,
      responder: dispatcher && clientResponder('tcp', dispatcher),
      dataMimeType,
      toWireError,
      tellTimeout,
      maxMessageSize: limits.messageSize,
      ...(fragmentSize === undefined ? {} : { maxFrameLength: fragmentSize }),
      keepaliveInterval: rsocket.keepalive.interval,
      keepaliveLifetime: rsocket.keepalive.lifetime,
      lease: rsocket.lease,
      resume: rsocket.resume
    })
}

/** The TCP client: connections to one or more endpoints, made at the first call and again when lost. */
import {
  type ClientContext,
  type ClientListener,
  type ClientStatus,
  type ClientTransport,
  Notices,
  PendingCaller
} from '@elysia-microservices/transport/kit'
import { newTimer } from '../connection/timer.ts'
import { NestRequester } from '../nest/requester.ts'
import type { CheckedClientOptions } from '../options/client-options.ts'
import { ClientConnection } from '../rsocket/client-connection.ts'
import { type NewProtocol, Pool } from './pool.ts'

/** Calls servers over TCP. */
export class TcpClient extends PendingCaller implements ClientTransport {
  readonly name = 'tcp'
  readonly #notices: Notices
  readonly #pool: Pool

  /** @throws {OptionError} an endpoint is not `host:port` */
  constructor(options: CheckedClientOptions, context: ClientContext) {
    super((call) => this.#pool.call(call), context.timeout)
    this.#notices = new Notices(context.logger)
    this.#pool = new Pool(options, context, this.#notices, newProtocol(options, context))
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
  const { timeout, tellTimeout, dispatcher, logger } = context
  const common = { timeout, newTimer, maxBufferSize: limits.receiveBuffer, maxUnsent: limits.sendBuffer }
  if (options.protocol === 'nest')
    return (where, _goingAway, recover) => new NestRequester({ ...common, where, recover })
  return (where, goingAway, recover) =>
    new ClientConnection({
      ...common,
      where,
      recover,
      goingAway,
      logger,
      dispatcher,
      dataMimeType,
      tellTimeout,
      maxMessageSize: limits.messageSize,
      ...(fragmentSize === undefined ? {} : { maxFrameLength: fragmentSize }),
      keepaliveInterval: rsocket.keepalive.interval,
      keepaliveLifetime: rsocket.keepalive.lifetime,
      lease: rsocket.lease,
      credentials: rsocket.credentials,
      resume: rsocket.resume
    })
}

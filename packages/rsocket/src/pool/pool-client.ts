/** A client whose calls are sent over a pool of connections. */
import {
  type ClientContext,
  type ClientStatus,
  type ClientTransport,
  type ConnectionListener,
  Notices,
  PendingCaller,
  refuseCall
} from '@elysia-microservices/transport/kit'
import { type NewProtocol, Pool, type PoolOptions } from './pool.ts'

/** The parameters of a client with a pool. */
export interface PoolClientInit extends PoolOptions {
  /** The name of the transport. */
  readonly name: string
  readonly newProtocol: NewProtocol
  /** Most bytes of a stream that may wait for its reader. Default: the default of `PendingCaller`. */
  readonly streamBuffer?: number | undefined
}

/** Calls the endpoints of a pool. */
export class PoolClient extends PendingCaller implements ClientTransport {
  readonly name: string
  readonly #notices: Notices
  readonly #pool: Pool

  /** @throws {OptionError} an endpoint is not `host:port` */
  constructor({ name, newProtocol, streamBuffer, ...options }: PoolClientInit, context: ClientContext) {
    const notices = new Notices(context.logger)
    const pool = new Pool(options, context, notices, newProtocol)
    super(pool.call, context.timeout, streamBuffer)
    this.name = name
    this.#notices = notices
    this.#pool = pool
  }

  get status(): ClientStatus {
    return this.#notices.status
  }

  get inFlight(): number {
    return this.#pool.inFlight
  }

  refuse(): void {
    this.start = refuseCall
  }

  onStatus(listener: ConnectionListener): () => void {
    return this.#notices.listen(listener)
  }

  connect(): Promise<void> {
    return this.#pool.connect()
  }

  close(): Promise<void> {
    return this.#pool.close()
  }
}

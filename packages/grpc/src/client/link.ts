/** One connection of a client, from its attempt to its end. */
import { type ClientProtocol, cannotConnect, reasonOf } from '@elysia-microservices/rsocket'
import type { Link, LinkParts } from '@elysia-microservices/rsocket/pool'
import { NOBODY, Session, type SessionOptions, type Socket } from '@elysia-microservices/rsocket/session'
import { type CheckedClientOptions, clientTls } from '@elysia-microservices/tcp/kit'
import { type Logger, unlessAborted } from '@elysia-microservices/transport/kit'

/** The address for messages: `grpc://localhost:50051`. */
export function nameOfPlace({
  host,
  port,
  path
}: Pick<CheckedClientOptions, 'host' | 'port' | 'path'>): string {
  if (path !== undefined) return `unix:${path}`
  return host.includes(':') ? `grpc://[${host}]:${port}` : `grpc://${host}:${port}`
}

/** Connects a client's protocol with its socket. */
export class GrpcLink implements Link {
  readonly protocol: ClientProtocol
  readonly where: string
  readonly connected: Promise<void>
  readonly closed: Promise<Error | undefined>
  readonly #options: CheckedClientOptions
  readonly #logger: Logger
  readonly #over: (reason: Error | undefined) => void
  readonly #attempt = new AbortController()
  #session: Session | undefined
  #isOver = false

  /** Starts to connect. @param options the client's options, with the place of the endpoint */
  constructor(options: CheckedClientOptions, logger: Logger, { protocol, over }: LinkParts) {
    this.#options = options
    this.#logger = logger
    this.where = nameOfPlace(options)
    this.protocol = protocol(this.where)
    let resolveClosed!: (reason: Error | undefined) => void
    this.closed = new Promise((resolve) => {
      resolveClosed = resolve
    })
    this.#over = (reason) => {
      over(reason)
      resolveClosed(reason)
    }
    this.connected = this.#connect().catch((cause: Error) => {
      this.#finish(cause)
      throw cannotConnect(this.where, cause, false, reasonOf)
    })
  }

  drain(): void {
    if (this.#session === undefined) return this.#giveUp('its endpoint was removed')
    void this.#session.drained()
  }

  end(): void {
    if (this.#session === undefined) return this.#giveUp('the client was closed')
    this.protocol.leave?.()
    this.#session.end()
    this.protocol.close()
  }

  /** Ends a connection that has no socket yet. */
  #giveUp(why: string): void {
    const reason = new Error(why)
    this.#attempt.abort(reason)
    this.#finish(reason)
  }

  async #connect(): Promise<void> {
    const { host, port, path, sockets, connectTimeout, tls: given } = this.#options
    const { signal } = this.#attempt
    const late = new Error(`no connection within options.connectTimeout (${connectTimeout} ms)`)
    const timer = setTimeout(() => this.#attempt.abort(late), connectTimeout)
    try {
      const tls = given === undefined ? undefined : await unlessAborted(clientTls(given), signal)
      let isInTheClear = false
      const accept = (socket: Socket) => {
        isInTheClear = tls !== undefined && socket.encrypted !== true
        if (!isInTheClear) return this.#accept(socket)
        queueMicrotask(() => socket.destroy())
        return NOBODY
      }
      await sockets.connect({ host, port, path, tls, alpn: ['h2'] }, accept, signal)
      if (isInTheClear) throw new Error('options.sockets does not support TLS')
    } finally {
      clearTimeout(timer)
    }
  }

  #accept(socket: Socket): Session {
    const { protocol } = this
    const { incompleteMessage, sendBuffer } = this.#options.limits
    const options: SessionOptions = {
      logger: this.#logger,
      incompleteMessageTimeout: incompleteMessage,
      // Frames of calls that were already sent need room beyond that of the calls.
      maxUnsent: 2 * sendBuffer,
      protocol: () => protocol,
      closed: (_session, _protocol, error) => this.#finish(protocol.reason ?? error)
    }
    const session = new Session(socket, options, protocol)
    this.#session = session
    protocol.open(session)
    return session
  }

  #finish(reason?: Error): void {
    if (this.#isOver) return
    this.#isOver = true
    // `over` is called first, so that retries do not choose this connection.
    this.#over(reason)
    this.protocol.close(reason)
  }
}

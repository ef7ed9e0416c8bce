/** The gRPC server: listens, holds its connections, and drains them when it stops. */
import { counting, ServerLimits } from '@elysia-microservices/rsocket'
import {
  ConnectionTimes,
  newTimer,
  Session,
  type SessionOptions,
  type Socket,
  type SocketListener,
  type TimeLimits
} from '@elysia-microservices/rsocket/session'
import type { Source, TlsServerOptions } from '@elysia-microservices/tcp'
import { Listener, TcpSharing } from '@elysia-microservices/tcp/kit'
import {
  type Address,
  type Dispatcher,
  endedWithin,
  type Logger,
  nextTurn,
  ProtocolError,
  type ServerTransport,
  type StopOptions,
  wrapDispatcher
} from '@elysia-microservices/transport/kit'
import { HTTP2_LIMITS } from '../http2/limits.ts'
import type { CheckedGrpcServerOptions } from '../options/options.ts'
import { type OwnParts, ownParts } from '../own/own-parts.ts'
import { GrpcConnection } from './grpc-connection.ts'
import { MOST_TOLD, RefusedConnections } from './refused-connections.ts'
import { type GrpcServerStats, serverStats } from './server-stats.ts'

const TLS_HANDSHAKE = 0x16
const P_OF_PREFACE = 0x50

/** Answers calls on a port or a Unix socket. Can be started again after `stop`. */
export class GrpcServer implements ServerTransport {
  readonly name = 'grpc'
  readonly #options: CheckedGrpcServerOptions
  readonly #logger: Logger
  readonly #sessions = new Set<Session>()
  readonly #limits: ServerLimits
  readonly #times: ConnectionTimes
  readonly #refused = new RefusedConnections()
  readonly #listener: Listener
  readonly sharing: TcpSharing
  /** Health and reflection of the server that runs. */
  #own: OwnParts | undefined

  /** @throws {OptionError} an entry of the allow-list is wrong */
  constructor(options: CheckedGrpcServerOptions, logger: Logger) {
    const { limits } = options
    this.#options = options
    this.#logger = logger
    this.#listener = new Listener(options, logger, ['h2'])
    this.sharing = new TcpSharing(this.#listener)
    this.#limits = new ServerLimits(
      {
        inFlight: limits.inFlight,
        maxInFlight: Number.POSITIVE_INFINITY,
        maxStreams: limits.streams,
        maxHeaderSize: limits.headerSize,
        logger
      },
      () => performance.now(),
      nextTurn
    )
    this.#times = new ConnectionTimes(this.#sessions, limits, (session, limit) =>
      this.#timeOver(session, limit)
    )
  }

  /** The address at which the server listens, with the real port; `undefined` while it does not listen. */
  get address(): Address | undefined {
    return this.sharing.address ?? this.#listener.address
  }

  /** Returns current figures with their limits. Visits every connection. */
  stats(): GrpcServerStats {
    const { handshaking } = this.#listener
    return serverStats(this.address, this.#sessions, handshaking, this.#options, this.#limits)
  }

  async start(answering: Dispatcher): Promise<void> {
    const { admission } = this.#limits
    const dispatcher = admission === undefined ? answering : wrapDispatcher(answering, [counting(admission)])
    const own = ownParts(this.#options, answering, this.#logger, newTimer)
    this.#own = own
    const { incompleteMessage, sendBuffer, connections } = this.#options.limits
    const options: SessionOptions = {
      logger: this.#logger,
      incompleteMessageTimeout: incompleteMessage,
      maxUnsent: sendBuffer,
      protocol: (session, firstByte) => this.#protocol(dispatcher, own, session, firstByte),
      closed: (session, protocol, error) => {
        this.#sessions.delete(session)
        protocol?.close(error)
      }
    }
    const accept = (socket: Socket) => {
      if (this.#sessions.size >= connections) return this.#refuse(socket)
      const session = new Session(socket, options)
      this.#sessions.add(session)
      return session
    }
    await this.#listener.open(accept, (handshaking) => {
      // Some more may end their handshakes, because only then can they be told that there are too many.
      if (this.#sessions.size + handshaking <= connections + MOST_TOLD) return true
      this.#limits.refused(
        'connections',
        `There are more TLS handshakes than limits.connections (${connections}) has room for`
      )
      return false
    })
    this.#times.start()
  }

  /** See `GrpcTransport.reloadTls`. */
  async reloadTls(tls: Source<TlsServerOptions> | undefined): Promise<void> {
    // In a supervisor, which does not listen itself, this call only checks the options.
    await this.#listener.reloadTls(tls)
    await this.sharing.reloadTls(tls)
  }

  async stop({ drain }: StopOptions = {}): Promise<void> {
    this.#listener.close()
    this.#times.stop()
    this.#refused.stop()
    this.#own?.stopping()
    const sessions = [...this.#sessions]
    const drained = Promise.all(sessions.map((session) => session.drained('The server is stopping')))
    if (!(await endedWithin(drained, drain))) {
      for (const { protocol } of sessions) if (protocol instanceof GrpcConnection) protocol.cut()
      // The callers are told before their connections are cut.
      await new Promise<void>((resolve) => nextTurn(resolve))
      for (const session of sessions) session.cut()
    }
    await drained
  }

  #protocol(dispatcher: Dispatcher, own: OwnParts, session: Session, firstByte: number): GrpcConnection {
    if (firstByte !== P_OF_PREFACE) throw new ProtocolError(notHttp2(firstByte))
    const { methods, keepalive, packsFrom, pings } = this.#options
    const { receiveBuffer, sendBuffer, messageSize, streams, headerSize } = this.#options.limits
    const connection = new GrpcConnection({
      methods,
      dispatcher,
      own: own.services,
      shared: this.#limits,
      keepalive,
      packsFrom,
      logger: this.#logger,
      limits: {
        ...HTTP2_LIMITS,
        receiveBuffer,
        sendBuffer,
        streams: mostOf(streams),
        fieldsSize: mostOf(headerSize),
        pings
      },
      maxMessageSize: messageSize,
      maxHeldSize: sendBuffer,
      errors: this.#options.errors,
      newTimer
    })
    connection.open(session)
    return connection
  }

  #refuse(socket: Socket): SocketListener {
    const { connections } = this.#options.limits
    const reason = `The server has as many connections as limits.connections allows (${connections})`
    this.#limits.refused('connections', reason)
    return this.#refused.refuse(socket, reason)
  }

  #timeOver(session: Session, limit: keyof TimeLimits): void {
    const { idle, silence, age } = this.#options.limits
    if (limit === 'age')
      return void session.drained(`The connection is older than limits.age (${age} ms); connect again`)
    const reason =
      limit === 'silence'
        ? `The connection sent nothing for limits.silence (${silence} ms)`
        : `The connection was idle for limits.idle (${idle} ms)`
    this.#limits.refused('idleConnections', reason)
    if (session.unsent === 0) return void session.drained(reason)
    // The peer does not read, so it cannot be told, and calls in flight for it may never end.
    session.end(new ProtocolError(`${reason}: its peer does not read the ${session.unsent} bytes sent to it`))
  }
}

/** The largest number that SETTINGS can say stands for no limit. */
function mostOf(limit: number): number {
  return Math.min(limit, 2 ** 31 - 1)
}

function notHttp2(firstByte: number): string {
  if (firstByte === TLS_HANDSHAKE)
    return 'The client speaks TLS, but this server has no options.tls; set it, or connect without TLS'
  return `The first byte is 0x${firstByte.toString(16).padStart(2, '0')}: no client of HTTP/2 begins with it`
}

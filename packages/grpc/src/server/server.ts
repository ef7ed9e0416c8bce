/** The gRPC server: listens, holds its connections, and drains them when it stops. */
import { ServerLimits } from '@elysia-microservices/rsocket'
import {
  ConnectionTimes,
  NOBODY,
  newTimer,
  Session,
  type SessionOptions,
  type Socket,
  type TimeLimits
} from '@elysia-microservices/rsocket/session'
import { type CheckedServerOptions, Listener } from '@elysia-microservices/tcp/kit'
import {
  type Address,
  type Dispatcher,
  endedWithin,
  type Logger,
  nextTurn,
  ProtocolError,
  type ServerTransport,
  type StopOptions,
  type TransportStats,
  type Usage
} from '@elysia-microservices/transport/kit'
import { HTTP2_LIMITS } from '../http2/limits.ts'
import type { GrpcMethods } from '../methods.ts'
import { GrpcConnection } from './grpc-connection.ts'

/** Connections that may end their TLS handshakes although there are too many: only then can they be told. */
const MOST_TOLD = 100
const TLS_HANDSHAKE = 0x16
const P_OF_PREFACE = 0x50

/** Current figures of a gRPC server. */
export interface GrpcServerStats extends TransportStats {
  /** Number of open connections, those in their TLS handshakes included, and `limits.connections`. */
  readonly connections: Usage
  /** Bytes that all connections have received and not yet handled. */
  readonly received: number
  /** Bytes that all connections have written and not yet sent. */
  readonly unsent: number
  /** Number of connections that were refused because of `limits.connections`, since the server was made. */
  readonly refused: number
}

/** Answers calls on a port or a Unix socket. Can be started again after `stop`. */
export class GrpcServer implements ServerTransport {
  readonly name = 'grpc'
  readonly #options: CheckedServerOptions
  readonly #methods: GrpcMethods
  readonly #logger: Logger
  readonly #sessions = new Set<Session>()
  readonly #limits: ServerLimits
  readonly #times: ConnectionTimes
  readonly #listener: Listener

  /** @throws {OptionError} an entry of the allow-list is wrong */
  constructor(options: CheckedServerOptions, methods: GrpcMethods, logger: Logger) {
    const { limits } = options
    this.#options = options
    this.#methods = methods
    this.#logger = logger
    this.#listener = new Listener(options, logger, ['h2'])
    this.#limits = new ServerLimits(
      {
        inFlight: Number.POSITIVE_INFINITY,
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
    return this.#listener.address
  }

  /** Returns current figures with their limits. Visits every connection. */
  stats(): GrpcServerStats {
    const figures = { inFlight: 0, streams: 0, received: 0, unsent: 0 }
    for (const { protocol, unsent } of this.#sessions) {
      figures.inFlight += protocol?.inFlight ?? 0
      figures.streams += protocol?.streams ?? 0
      figures.received += protocol?.buffered ?? 0
      figures.unsent += unsent
    }
    const { inFlight, ...others } = figures
    const { connections } = this.#options.limits
    return {
      transport: this.name,
      address: this.address,
      connections: {
        current: this.#sessions.size + this.#listener.handshaking,
        limit: Number.isFinite(connections) && connections
      },
      inFlight: { current: inFlight, limit: false },
      ...others,
      refused: this.#limits.refusals.connections
    }
  }

  async start(dispatcher: Dispatcher): Promise<void> {
    const { incompleteMessage, sendBuffer, connections } = this.#options.limits
    const options: SessionOptions = {
      logger: this.#logger,
      incompleteMessageTimeout: incompleteMessage,
      maxUnsent: sendBuffer,
      protocol: (session, firstByte) => this.#protocol(dispatcher, session, firstByte),
      closed: (session, protocol, error) => {
        this.#sessions.delete(session)
        protocol?.close(error)
      }
    }
    const accept = (socket: Socket) => {
      if (this.#sessions.size >= connections) {
        this.#refused()
        // The socket is destroyed in a microtask, because the runtime must first get the listener of the socket.
        queueMicrotask(() => socket.destroy())
        return NOBODY
      }
      const session = new Session(socket, options)
      this.#sessions.add(session)
      return session
    }
    await this.#listener.open(accept, (handshaking) => {
      if (this.#sessions.size + handshaking <= connections + MOST_TOLD) return true
      this.#refused()
      return false
    })
    this.#times.start()
  }

  async stop({ drain }: StopOptions = {}): Promise<void> {
    this.#listener.close()
    this.#times.stop()
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

  #protocol(dispatcher: Dispatcher, session: Session, firstByte: number): GrpcConnection {
    if (firstByte !== P_OF_PREFACE) throw new ProtocolError(notHttp2(firstByte))
    const { receiveBuffer, sendBuffer, messageSize, streams, headerSize } = this.#options.limits
    const connection = new GrpcConnection({
      methods: this.#methods,
      dispatcher,
      logger: this.#logger,
      limits: {
        ...HTTP2_LIMITS,
        receiveBuffer,
        sendBuffer,
        streams: mostOf(streams),
        fieldsSize: mostOf(headerSize)
      },
      maxMessageSize: messageSize,
      maxHeldSize: sendBuffer,
      newTimer
    })
    connection.open(session)
    return connection
  }

  #refused(): void {
    const { connections } = this.#options.limits
    this.#limits.refused(
      'connections',
      `There are as many connections as limits.connections allows (${connections})`
    )
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

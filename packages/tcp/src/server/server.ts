/** The TCP server: listens, holds its connections, and drains them when it stops. */

import type { ProtocolConnection, ServerConnectionOptions } from '@elysia-microservices/rsocket'
import {
  counting,
  MetadataReader,
  ResumableConnections,
  ServerHandshake,
  ServerLimits
} from '@elysia-microservices/rsocket'
import type { Socket, SocketListener } from '@elysia-microservices/rsocket/session'
import {
  ConnectionTimes,
  newTimer,
  Session,
  type SessionOptions,
  type TimeLimits
} from '@elysia-microservices/rsocket/session'
import {
  type Address,
  type Dispatcher,
  endedWithin,
  type Logger,
  ProtocolError,
  type ServerTransport,
  type StopOptions,
  wrapDispatcher
} from '@elysia-microservices/transport/kit'
import { LeftEvents } from '../nest/left-events.ts'
import { NestResponder } from '../nest/responder.ts'
import { PatternReader } from '../nest/route.ts'
import type { Source } from '../options/security-options.ts'
import type { CheckedServerOptions } from '../options/server-options.ts'
import type { AcceptSocket } from '../socket/socket.ts'
import type { TlsServerOptions } from '../socket/tls.ts'

import { detectProtocol } from './detect.ts'
import { Listener } from './listener.ts'
import { MOST_TOLD, RefusedConnections } from './refused-connections.ts'
import { serverStats, type TcpServerStats } from './server-stats.ts'
import { TcpSharing } from './sharing.ts'

const MAX_METADATA_READERS = 16

/** Answers messages on a TCP port or a Unix socket. Can be started again after `stop`. */
export class TcpServer implements ServerTransport {
  readonly name = 'tcp'
  readonly #options: CheckedServerOptions
  readonly #logger: Logger
  readonly #sessions = new Set<Session>()
  readonly #patterns = new PatternReader()
  readonly #metadataReaders = new Map<string, MetadataReader>()
  readonly #resumable: ResumableConnections | undefined
  readonly #limits: ServerLimits
  readonly #left: LeftEvents
  readonly #times: ConnectionTimes
  readonly #refused = new RefusedConnections()
  readonly #listener: Listener
  readonly sharing: TcpSharing

  /** @throws {OptionError} an entry of the allow-list is wrong */
  constructor(options: CheckedServerOptions, logger: Logger) {
    const { limits, rsocket } = options
    this.#options = options
    this.#logger = logger
    this.#listener = new Listener(options, logger)
    this.sharing = new TcpSharing(this.#listener)
    this.#limits = new ServerLimits(
      {
        inFlight: limits.inFlight,
        maxInFlight: limits.inFlightPerConnection,
        maxStreams: limits.streams,
        maxHeaderSize: limits.headerSize,
        logger
      },
      () => performance.now(),
      (task) => void setImmediate(task)
    )
    this.#left = new LeftEvents(this.#limits.admission, limits.receiveBuffer, logger)
    this.#times = new ConnectionTimes(this.#sessions, limits, (session, limit) =>
      this.#timeOver(session, limit)
    )
    if (rsocket.resume !== undefined) {
      const givenUp = (why: string) => this.#limits.refused('waiting', why)
      this.#resumable = new ResumableConnections(rsocket.resume, later, givenUp)
    }
  }

  /** The address at which the server listens, with the real port; `undefined` while it does not listen. */
  get address(): Address | undefined {
    return this.sharing.address ?? this.#listener.address
  }

  /** Returns current figures with their limits. Visits every connection. */
  stats(): TcpServerStats {
    const { handshaking } = this.#listener
    return serverStats(
      this.address,
      this.#sessions,
      handshaking,
      this.#options,
      this.#limits,
      this.#resumable
    )
  }

  async start(answering: Dispatcher): Promise<void> {
    const { admission } = this.#limits
    const dispatcher = admission === undefined ? answering : wrapDispatcher(answering, [counting(admission)])
    const { incompleteMessage, sendBuffer, connections } = this.#options.limits
    const rsocket = this.#rsocketOptions(dispatcher)
    const options: SessionOptions = {
      logger: this.#logger,
      incompleteMessageTimeout: incompleteMessage,
      maxUnsent: sendBuffer,
      protocol: (session, firstByte) => this.#protocol(dispatcher, rsocket, session, firstByte),
      closed: (session, protocol, error) => {
        this.#sessions.delete(session)
        protocol?.close(error)
      }
    }
    const accept: AcceptSocket = (socket) => {
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

  /** See `TcpTransport.reloadTls`. */
  async reloadTls(tls: Source<TlsServerOptions> | undefined): Promise<void> {
    // In a supervisor, which does not listen itself, this call only checks the options.
    await this.#listener.reloadTls(tls)
    await this.sharing.reloadTls(tls)
  }

  async stop({ drain }: StopOptions = {}): Promise<void> {
    this.#listener.close()
    this.#times.stop()
    this.#refused.stop()
    const sessions = [...this.#sessions]
    // Clients that close meanwhile may leave events behind.
    const drained = Promise.all(sessions.map((session) => session.drained())).then(() => this.#left.drained())
    if (!(await endedWithin(drained, drain))) for (const session of sessions) session.cut()
    this.#left.cut()
    await drained
    this.#resumable?.endWaiting()
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
    // The peer does not read, so it cannot be told, and requests in flight for it may never end.
    session.end(new ProtocolError(`${reason}: its peer does not read the ${session.unsent} bytes sent to it`))
  }

  #protocol(
    dispatcher: Dispatcher,
    rsocket: ServerConnectionOptions,
    session: Session,
    firstByte: number
  ): ProtocolConnection {
    switch (detectProtocol(firstByte)) {
      case 'nest':
        return new NestResponder({
          dispatcher,
          logger: this.#logger,
          output: session,
          maxBufferSize: this.#options.limits.receiveBuffer,
          patterns: this.#patterns,
          limits: this.#limits,
          left: this.#left
        })
      case 'rsocket':
        return new ServerHandshake(rsocket, session)
      case undefined:
        throw new ProtocolError(notOurs(firstByte))
    }
  }

  #rsocketOptions(dispatcher: Dispatcher): ServerConnectionOptions {
    const { limits, authenticate, fragmentSize } = this.#options
    return {
      transport: 'tcp',
      dispatcher,
      logger: this.#logger,
      maxMessageSize: limits.messageSize,
      maxBufferSize: limits.receiveBuffer,
      maxUnsent: limits.sendBuffer,
      ...(fragmentSize === undefined ? {} : { maxFrameLength: fragmentSize }),
      newTimer,
      authenticate,
      resumesByToken: true,
      handshakeTimeout: limits.handshake,
      limits: this.#limits,
      metadataReader: (mimeType) => this.#metadataReader(mimeType),
      resumable: this.#resumable
    }
  }

  #metadataReader(mimeType: string): MetadataReader {
    const known = this.#metadataReaders.get(mimeType)
    if (known !== undefined) return known
    const reader = new MetadataReader(mimeType)
    // Clients choose the MIME type. The number of remembered types is limited, so that many different types cannot fill
    // the memory.
    if (this.#metadataReaders.size < MAX_METADATA_READERS) this.#metadataReaders.set(mimeType, reader)
    return reader
  }
}

/** First byte of a TLS connection. */
const TLS_HANDSHAKE = 0x16

/**
 * The error message for a peer that speaks neither protocol. The message names the protocol that the peer probably
 * speaks.
 */
function notOurs(firstByte: number): string {
  if (firstByte === TLS_HANDSHAKE)
    return 'The client speaks TLS, but this server has no options.tls; set it, or connect without TLS'
  const byte = `0x${firstByte.toString(16).padStart(2, '0')}`
  // HTTP begins with GET, POST and so on. No frame of Nest or RSocket begins with an upper-case letter.
  if (firstByte >= 0x41 && firstByte <= 0x5a)
    return `The first byte is ${byte} ('${String.fromCharCode(firstByte)}'): this looks like HTTP, which this port does not speak; let health checks connect by TCP`
  return `The first byte is ${byte}: neither a Nest frame nor an RSocket SETUP begins with it`
}

function later(task: () => void, delay: number): () => void {
  const timer = setTimeout(task, delay).unref()
  return () => clearTimeout(timer)
}

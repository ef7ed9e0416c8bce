/** The TCP server: listens, keeps the table of connections, drains them when it stops. */
import type { Caller } from '../call.ts'
import type { Connection, Dispatcher } from '../dispatch.ts'
import { ProtocolError } from '../errors.ts'
import { ServerLimits } from '../limits/server-limits.ts'
import type { ProtocolConnection } from '../protocol/connection.ts'
import { detectProtocol } from '../protocol/detect.ts'
import { NestResponder } from '../protocol/nest/responder.ts'
import { PatternReader } from '../protocol/nest/route.ts'
import type { RSocketServerOptions } from '../protocol/rsocket/options.ts'
import { MetadataReader } from '../protocol/rsocket/request-metadata.ts'
import { ResumableConnections } from '../protocol/rsocket/resumable-connections.ts'
import { RSocketServerConnection } from '../protocol/rsocket/server-connection.ts'
import { readQueue } from '../read-queue.ts'
import { Session, type SessionOptions } from '../session.ts'
import type { Socket, SocketAddress, SocketListener } from '../socket/socket.ts'
import type { PeerCertificate, TlsServerOptions } from '../socket/tls.ts'
import type { ServerTransport, StopOptions } from '../transport.ts'
import { DeadlineTimer } from './deadline-timer.ts'
import { IdleConnections } from './idle-connections.ts'
import { Listener } from './listener.ts'
import { RefusedConnections } from './refused-connections.ts'
import type { Source } from './security-options.ts'
import { type CheckedServerOptions, serverOptions, type TcpServerOptions } from './server-options.ts'
import { type ServerStats, serverStats } from './server-stats.ts'

const DEFAULT_DRAIN = 10_000
const MAX_METADATA_READERS = 16
/** First byte of a TLS connection. */
const TLS_HANDSHAKE = 0x16

type SharedOptions = Omit<RSocketServerOptions, 'timer' | 'connection'>

/** What handlers see of an RSocket connection. Its streams are ended one by one, so none hears of its end. */
class Peer implements Connection {
  readonly #session: Session
  readonly #caller: () => Caller

  constructor(session: Session, caller: () => Caller) {
    this.#session = session
    this.#caller = caller
  }

  get remoteAddress(): string | undefined {
    return this.#session.remoteAddress
  }

  get remotePort(): number | undefined {
    return this.#session.remotePort
  }

  get certificate(): PeerCertificate | undefined {
    return this.#session.certificate
  }

  get caller(): Caller {
    return this.#caller()
  }

  onClose(): () => void {
    return () => {}
  }

  destroy(): void {
    this.#session.destroy()
  }
}

/** Answers messages on a TCP port, or a Unix socket. Can be started again after it was stopped. */
export class TcpServer implements ServerTransport {
  readonly #options: CheckedServerOptions
  readonly #sessions = new Set<Session>()
  readonly #patterns = new PatternReader()
  readonly #metadataReaders = new Map<string, MetadataReader>()
  readonly #resumable: ResumableConnections | undefined
  readonly #limits: ServerLimits
  readonly #idle: IdleConnections
  readonly #refused = new RefusedConnections()
  #sharedOptions: SharedOptions | undefined
  readonly #listener: Listener

  /** @throws {ValidationError} an option is not what it must be */
  constructor(options: TcpServerOptions = {}) {
    this.#options = serverOptions(options)
    this.#listener = new Listener(this.#options)
    const { resume, idleTimeout } = this.#options
    this.#limits = new ServerLimits(
      this.#options,
      () => performance.now(),
      (task) => void setImmediate(task)
    )
    this.#idle = new IdleConnections(this.#sessions, idleTimeout, (session) => this.#closeIdle(session))
    if (resume !== undefined) this.#resumable = new ResumableConnections(resume, later)
  }

  /** Where it listens, with the real port; `undefined` while it does not. */
  get address(): SocketAddress | undefined {
    return this.#listener.address
  }

  /** Connections that are open now. */
  get connections(): number {
    return this.#sessions.size
  }

  /** What it does at the moment, next to its limits. Costs a look at each connection. */
  stats(): ServerStats {
    return serverStats(this.address, this.#sessions, this.#options, this.#limits)
  }

  async start(answering: Dispatcher): Promise<void> {
    const { logger, incompleteMessageTimeout, maxSendBufferSize, maxConnections } = this.#options
    const dispatcher = this.#limits.admission?.around(answering) ?? answering
    const session: SessionOptions = {
      logger,
      incompleteMessageTimeout,
      maxSendBufferSize,
      protocol: (connection, firstByte) => this.#protocol(dispatcher, connection, firstByte),
      closed: (connection, spoken, error) => {
        this.#sessions.delete(connection)
        spoken?.close(error)
      }
    }
    this.#sharedOptions = undefined
    await this.#listener.open((socket) => {
      if (maxConnections > 0 && this.#sessions.size >= maxConnections) return this.#refuse(socket)
      const connection = new Session(socket, session)
      this.#sessions.add(connection)
      return connection
    })
    this.#idle.start()
  }

  /**
   * Gives new connections another certificate; those that are open live on with the old one. It fails as a whole
   * or not at all: the old one stays then.
   * @param tls the new one; needed unless `options.tls` is a function, which is called again
   * @throws {ValidationError} there is nothing to reload, or it cannot be used
   */
  reloadTls(tls?: Source<TlsServerOptions>): Promise<void> {
    return this.#listener.reloadTls(tls)
  }

  async stop({ drain = DEFAULT_DRAIN }: StopOptions = {}): Promise<void> {
    this.#listener.close()
    this.#idle.stop()
    this.#refused.stop()
    // What was read before still counts.
    readQueue.handle()
    const sessions = [...this.#sessions]
    const cut = setTimeout(() => {
      readQueue.handle()
      for (const session of sessions) session.destroy()
    }, drain)
    await Promise.all(sessions.map((session) => session.drained()))
    clearTimeout(cut)
    this.#resumable?.endWaiting()
  }

  #refuse(socket: Socket): SocketListener {
    const reason = `The server has as many connections as maxConnections allows (${this.#options.maxConnections})`
    this.#limits.refused('connections', reason)
    return this.#refused.refuse(socket, reason)
  }

  #closeIdle(session: Session): void {
    const reason = `Nothing has gone over the connection for idleTimeout (${this.#options.idleTimeout} ms)`
    this.#limits.refused('idleConnections', reason)
    if (session.unsent === 0) return void session.drained(reason)
    // Whoever reads nothing reads no farewell, and work for it may wait for ever.
    session.end(new ProtocolError(`${reason}, though ${session.unsent} bytes are there to be read`))
  }

  #protocol(dispatcher: Dispatcher, session: Session, firstByte: number): ProtocolConnection {
    const { logger, maxBufferSize } = this.#options
    switch (detectProtocol(firstByte)) {
      case 'nest':
        return new NestResponder({
          dispatcher,
          logger,
          output: session,
          connection: session,
          maxBufferSize,
          patterns: this.#patterns,
          limits: this.#limits
        })
      case 'rsocket':
        return this.#rsocket(dispatcher, session)
      case undefined: {
        if (firstByte === TLS_HANDSHAKE)
          throw new ProtocolError('The client speaks TLS, and this server does not: it has no options.tls')
        const byte = `0x${firstByte.toString(16).padStart(2, '0')}`
        throw new ProtocolError(
          `The first byte is ${byte}: neither a Nest frame nor an RSocket SETUP begins so`
        )
      }
    }
  }

  #rsocket(dispatcher: Dispatcher, session: Session): ProtocolConnection {
    const connection: RSocketServerConnection = new RSocketServerConnection(
      // What all connections have in common is one object behind that of each: idle connections are many.
      Object.assign(Object.create(this.#shared(dispatcher)), {
        timer: new DeadlineTimer((now) => connection.wake(now)),
        connection: new Peer(session, () => connection.caller)
      })
    )
    connection.open(session)
    return connection
  }

  #shared(dispatcher: Dispatcher): SharedOptions {
    const { maxInFlight, leaseTimeToLive: timeToLive } = this.#options
    const limits = this.#limits
    const concurrency = maxInFlight > 0 ? maxInFlight : Number.POSITIVE_INFINITY
    // Without any limit, a client that wants leases gets one for ever.
    const isLimited = maxInFlight > 0 || limits.admission !== undefined
    this.#sharedOptions ??= {
      ...this.#options,
      dispatcher,
      limits,
      lease: isLimited ? { concurrency, timeToLive } : undefined,
      authenticate: this.#options.authenticate,
      handshakeTimeout: this.#options.handshakeTimeout,
      resumable: this.#resumable,
      metadataReader: (mimeType) => this.#metadataReader(mimeType)
    }
    return this.#sharedOptions
  }

  #metadataReader(mimeType: string): MetadataReader {
    const known = this.#metadataReaders.get(mimeType)
    if (known !== undefined) return known
    const reader = new MetadataReader(mimeType)
    // Clients choose the type; the few there are find theirs, a flood of others fills no memory.
    if (this.#metadataReaders.size < MAX_METADATA_READERS) this.#metadataReaders.set(mimeType, reader)
    return reader
  }
}

function later(task: () => void, delay: number): () => void {
  const timer = setTimeout(task, delay).unref()
  return () => clearTimeout(timer)
}

/**
 * A door: the server for WebSockets on the port of an app. It has the connections, and the services that answer on
 * them.
 */
import {
  type Judge,
  MetadataReader,
  ResumableConnections,
  type ServerConnectionOptions,
  ServerHandshake,
  ServerLimits,
  verdictOf
} from '@elysia-microservices/rsocket'
import {
  ConnectionTimes,
  newTimer,
  Session,
  type SessionOptions
} from '@elysia-microservices/rsocket/session'
import {
  consoleLogger,
  type Dispatcher,
  endedWithin,
  type Logger,
  ProtocolError,
  quietLog,
  type ServerContext,
  type ServerTransport,
  type StopOptions,
  shown,
  type TransportStats,
  type Usage
} from '@elysia-microservices/transport/kit'
import type { CheckedOptions, Upgrade } from '../options.ts'
import { LONGEST_FRAME } from '../wire/messages.ts'
import { Exposed } from './exposed.ts'
import { originRefusal } from './origins.ts'
import { CloseCode, type RawListener, type RawSocket, rawListener, ServerSocket } from './server-socket.ts'
import { type Admits, admitting, dispatcherOf } from './services.ts'

/** Current figures of a door, which all services of one app share. */
export interface WebSocketStats extends TransportStats {
  readonly connections: Usage
  /** Lost connections that wait to be resumed, and the bytes that are buffered for them. */
  readonly resumable: { readonly connections: Usage; readonly bytes: Usage }
  /** The number of refusals by the name of the limit, since the door was made. */
  readonly refused: Readonly<Record<string, number>>
}

/** The HTTP status and the reason with which an upgrade is refused. */
export interface Refusal {
  readonly status: number
  readonly reason: string
}

/** An upgrade, with the port from which it was sent. */
export interface Entering extends Upgrade {
  readonly port: number | undefined
}

/** The parts in which the door of another package, such as the console, differs from a user's door. */
export interface DoorParts {
  /** Default: a client that may connect may call all exposed patterns. */
  readonly admits?: Admits
  /** Default: exposes the patterns of `options.expose`. */
  readonly newService?: (dispatcher: Dispatcher) => Exposed
}

const MAX_METADATA_READERS = 16
/** Milliseconds that an upgrade waits for the app's services to start. */
const START = 2_000
/** Largest number of upgrades that wait for services. */
const MOST_AWAITING = 1_000
/** Largest number of log lines about refused pages in 10 s. */
const MOST_REFUSED = 5

/** Accepts connections for the services behind the door. */
export class WebSocketDoor {
  readonly #options: CheckedOptions
  readonly #admits: Admits | undefined
  readonly #newService: (dispatcher: Dispatcher) => Exposed
  readonly #limits: ServerLimits
  readonly #times: ConnectionTimes
  readonly #resumable: ResumableConnections | undefined
  readonly #sessions = new Set<Session>()
  /** The figures that were told in this turn of the event loop. */
  #stats: WebSocketStats | undefined
  readonly #services = new Set<Exposed>()
  /** Services whose clients' connections drain. */
  readonly #stopping = new Set<Exposed>()
  /** The servers of services that have not started yet. */
  readonly #starting = new Set<ServerTransport>()
  #isComplete = false
  /** Accepted upgrades that have no session yet. They count for the limits. */
  readonly #entering = new Set<Upgrade>()
  readonly #metadataReaders = new Map<string, MetadataReader>()
  /** The callbacks of upgrades that wait for a service; each ends the wait of one upgrade. */
  readonly #awaited: (() => void)[] = []
  /** The logger of the first service. */
  #logger: Logger = consoleLogger
  /** Whether the exposed patterns have been compared with those of the services. */
  #isCompared = false

  constructor(
    options: CheckedOptions,
    {
      admits,
      newService = (dispatcher: Dispatcher) => new Exposed(options.expose, dispatcher)
    }: DoorParts = {}
  ) {
    this.#options = options
    this.#admits = admits
    this.#newService = newService
    const { limits, resume } = options
    this.#limits = new ServerLimits(
      {
        inFlight: Number.POSITIVE_INFINITY,
        maxInFlight: limits.inFlightPerConnection,
        maxStreams: limits.streams,
        maxHeaderSize: limits.headerSize,
        // The logger is read at each line, because the first service, which provides it, is known only later.
        logger: {
          error: (line, cause) => this.#logger.error(line, cause),
          warn: (line, cause) => this.#logger.warn(line, cause)
        }
      },
      () => performance.now(),
      (task) => void setTimeout(task)
    )
    this.#times = new ConnectionTimes(this.#sessions, { ...limits, silence: 0 }, (session, limit) => {
      const which = `limits.${limit} (${limit === 'age' ? limits.age : limits.idle} ms)`
      if (limit !== 'age') this.#limits.refused('idleConnections', `nothing was sent for ${which}`)
      if (limit === 'age' || session.unsent === 0) void session.drained(`${which} has passed; connect again`)
      else session.end(new ProtocolError(`The client has read nothing for ${which}`))
    })
    if (resume !== undefined)
      this.#resumable = new ResumableConnections(resume, later, (why) => this.#limits.refused('waiting', why))
  }

  // ── the services ─────────────────────────────────────────────────────────────────────────────────────

  /** Makes the server by which a service answers at this door. */
  newServer({ logger }: ServerContext): ServerTransport {
    let service: Exposed | undefined
    const server: ServerTransport = {
      name: 'websocket',
      start: async (dispatcher) => {
        service = this.#newService(dispatcher)
        if (this.#services.size === 0) this.#logger = logger
        this.#services.add(service)
        this.#starting.delete(server)
        for (const resolve of this.#awaited.splice(0)) resolve()
        this.#times.start()
        this.#compareAtStart()
      },
      stop: async (options) => {
        this.#starting.delete(server)
        if (service === undefined || !this.#services.delete(service)) return
        this.#stopping.add(service)
        await this.#drain(options)
        this.#stopping.delete(service)
      },
      stats: () => this.stats()
    }
    this.#starting.add(server)
    return server
  }

  /** Called when the app has loaded all of its plugins, so that no further service is expected. */
  allServicesKnown(): void {
    this.#isComplete = true
    this.#compareAtStart()
  }

  /** The figures, which all services share: in one turn of the event loop they get the same object. */
  stats(): WebSocketStats {
    if (this.#stats === undefined) {
      this.#stats = this.#newStats()
      queueMicrotask(() => {
        this.#stats = undefined
      })
    }
    return this.#stats
  }

  #newStats(): WebSocketStats {
    let inFlight = 0
    let streams = 0
    for (const { protocol } of this.#sessions) {
      inFlight += protocol?.inFlight ?? 0
      streams += protocol?.streams ?? 0
    }
    const { resume, limits } = this.#options
    const waiting = this.#resumable?.waiting
    return {
      transport: 'websocket',
      address: undefined,
      inFlight: { current: inFlight, limit: false },
      streams,
      connections: { current: this.#sessions.size, limit: limits.connections },
      resumable: {
        connections: { current: waiting?.connections ?? 0, limit: resume?.waiting ?? 0 },
        bytes: { current: waiting?.bytes ?? 0, limit: resume?.waitingSize ?? 0 }
      },
      refused: this.#limits.refusals
    }
  }

  /**
   * Closes all connections when their calls in flight have ended, because some of these calls may belong to the
   * service that stops. Clients then connect again, to call the remaining services.
   */
  async #drain({ drain }: StopOptions = {}): Promise<void> {
    const sessions = [...this.#sessions]
    const drained = Promise.all(sessions.map((session) => session.drained()))
    if (!(await endedWithin(drained, drain))) for (const session of sessions) session.cut()
    await drained
    if (this.#services.size > 0) return
    this.#times.stop()
    this.#resumable?.endWaiting()
  }

  readonly #dispatcher = dispatcherOf(this.#services, this.#stopping)

  // ── connections ──────────────────────────────────────────────────────────────────────────────────────

  /**
   * Resolves to true when there is a service, or to false after a while: an app begins to listen before its
   * services do.
   */
  async #hasService(): Promise<boolean> {
    if (this.#services.size > 0) return true
    if (this.#awaited.length >= MOST_AWAITING) return false
    let timer: ReturnType<typeof setTimeout> | undefined
    await new Promise<void>((resolve) => {
      timer = setTimeout(resolve, START)
      this.#awaited.push(resolve)
    })
    clearTimeout(timer)
    return this.#services.size > 0
  }

  /**
   * Returns the reason why an upgrade is refused; `undefined` if it is accepted. An accepted upgrade has a place until
   * `enter` or `leave` is called with it.
   */
  async refusal(upgrade: Upgrade): Promise<Refusal | undefined> {
    const { headers, address } = upgrade
    const { origins, limits } = this.#options
    const forbidden = await this.#admits?.(upgrade)
    if (forbidden !== undefined) return { status: 403, reason: forbidden }
    const foreign = originRefusal(headers, origins)
    if (foreign !== undefined) {
      // The page cannot see the reason, so it is logged.
      quietLog(this.#logger).warn(
        'origin',
        `An upgrade was refused: ${shown(foreign)}`,
        undefined,
        MOST_REFUSED
      )
      return { status: 403, reason: foreign }
    }
    if (!(await this.#hasService())) return { status: 503, reason: 'No service answers here at the moment' }
    this.#compare()
    const { connections, connectionsPerAddress: most } = limits
    const isFull = this.#sessions.size + this.#entering.size >= connections
    if (!isFull && (most === 0 || this.#countAt(address) < most)) {
      // The place is taken in the same turn: several upgrades may have waited for the same event.
      this.#entering.add(upgrade)
      return undefined
    }
    const reason = isFull
      ? `No more connections: limits.connections is reached (${connections})`
      : `No more connections from this address: limits.connectionsPerAddress is reached (${most})`
    this.#limits.refused('connections', reason)
    return { status: 503, reason }
  }

  /** Gives the place of an accepted upgrade back whose socket is gone before it has become a WebSocket. */
  leave(entering: Entering): void {
    this.#entering.delete(entering)
  }

  /** Takes over the socket of an accepted client. */
  enter(raw: RawSocket, entering: Entering, byTurns: boolean): RawListener {
    this.#entering.delete(entering)
    const socket = new ServerSocket(raw, byTurns, entering)
    const { incompleteMessage, sendBuffer } = this.#options.limits
    const options: SessionOptions = {
      logger: this.#logger,
      incompleteMessageTimeout: incompleteMessage,
      maxUnsent: sendBuffer,
      protocol: () => new ServerHandshake(this.#connectionOptions(entering), session),
      closed: (_session, protocol, error) => {
        this.#sessions.delete(session)
        protocol?.close(error)
      }
    }
    const session: Session = new Session(socket, options)
    this.#sessions.add(session)
    // The handshake begins now, so that its time limit also applies to a client that sends nothing.
    session.adopt(new ServerHandshake(this.#connectionOptions(entering), session))
    return rawListener(session, byTurns, () => {
      socket.closeCode = CloseCode.UNSUPPORTED_DATA
      session.end(
        new ProtocolError('The client has sent a text message, but RSocket uses only binary messages')
      )
    })
  }

  #count(which: (session: Session) => boolean): number {
    return [...this.#sessions].filter(which).length
  }

  #countAt(address: string | undefined): number {
    const entering = [...this.#entering].filter((upgrade) => upgrade.address === address)
    return entering.length + this.#count(({ remote }) => remote.remoteAddress === address)
  }

  #connectionOptions(entering: Entering): ServerConnectionOptions {
    const { limits, authenticate } = this.#options
    return {
      transport: 'websocket',
      dispatcher:
        this.#admits === undefined ? this.#dispatcher : admitting(this.#dispatcher, this.#admits, entering),
      logger: this.#logger,
      maxMessageSize: limits.messageSize,
      maxBufferSize: limits.receiveBuffer,
      maxUnsent: limits.sendBuffer,
      maxFrameLength: LONGEST_FRAME,
      newTimer,
      authenticate: authenticate && this.#judge(entering, authenticate),
      refuses: (user, resumed) => this.#refuseUser(user, resumed),
      handshakeTimeout: limits.handshake,
      limits: this.#limits,
      metadataReader: (mimeType) => this.#metadataReader(mimeType),
      resumable: this.#resumable
    }
  }

  #judge(upgrade: Upgrade, authenticate: NonNullable<CheckedOptions['authenticate']>): Judge {
    return async ({ credentials, route }) => {
      const said = await authenticate({ credentials, upgrade, route })
      const verdict = verdictOf(said)
      if (verdict === false && said !== false && said !== undefined)
        this.#logger.error(
          `A client was refused: authenticate must return { user: 'a name' } or true to accept the client, or false`
        )
      return verdict
    }
  }

  #refuseUser(user: string, resumed: object | undefined): string | undefined {
    const { connectionsPerUser: most } = this.#options.limits
    const isUsers = ({ protocol }: Session) =>
      protocol !== resumed && (protocol as { user?: unknown } | undefined)?.user === user
    if (this.#count(isUsers) < most) return undefined
    const reason = `No more connections of this user: limits.connectionsPerUser is reached (${most})`
    this.#limits.refused('connections', reason)
    return reason
  }

  #metadataReader(mimeType: string): MetadataReader {
    const known = this.#metadataReaders.get(mimeType)
    if (known !== undefined) return known
    const reader = new MetadataReader(mimeType)
    // Clients choose the MIME type, so only a few readers are kept: otherwise a flood of different types could fill
    // the memory.
    if (this.#metadataReaders.size < MAX_METADATA_READERS) this.#metadataReaders.set(mimeType, reader)
    return reader
  }

  #compareAtStart(): void {
    if (this.#isComplete && this.#services.size > 0 && this.#starting.size === 0) this.#compare()
  }

  /** Warns of exposed patterns that match no handler: with a misspelt pattern no client could reach the handler. */
  #compare(): void {
    if (this.#isCompared) return
    this.#isCompared = true
    for (const pattern of this.#options.expose) {
      const isThere = [...this.#services].some(({ dispatcher }) =>
        new Exposed([pattern], dispatcher).routes.some(() => true)
      )
      if (!isThere)
        this.#logger.warn(`websocket(): no handler matches the pattern '${pattern}' of options.expose`)
    }
  }
}

function later(task: () => void, delay: number): () => void {
  const timer = setTimeout(task, delay)
  timer.unref()
  return () => clearTimeout(timer)
}

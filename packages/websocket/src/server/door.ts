/** One door: the connections that come through it, and the services behind it. */
import {
  Accepted,
  type Judge,
  MetadataReader,
  ResumableConnections,
  type ServerConnectionOptions,
  ServerHandshake,
  ServerLimits
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
  type Gauge,
  type Logger,
  PatternNotFoundError,
  ProtocolError,
  quietLog,
  RpcError,
  type ServerContext,
  type ServerTransport,
  type StopOptions,
  shown,
  type TransportStats
} from '@elysia-microservices/transport/kit'
import type { CheckedOptions, Upgrade } from '../options.ts'
import { LONGEST_FRAME } from '../wire/messages.ts'
import { Exposed } from './exposed.ts'
import { originRefusal } from './origins.ts'
import { CloseCode, type RawListener, type RawSocket, rawListener, ServerSocket } from './server-socket.ts'

/** Current figures of a door, which the services of one app share. */
export interface WebSocketStats extends TransportStats {
  readonly connections: Gauge
  /** Lost connections that wait to be resumed, and the bytes that are kept for them. */
  readonly resumable: { readonly connections: Gauge; readonly bytes: Gauge }
  /** Number of refusals because of each limit, since the door was made. */
  readonly refused: Readonly<Record<string, number>>
}

/** Why an upgrade is refused. */
export interface Refusal {
  readonly status: number
  readonly reason: string
}

/** An upgrade, with the port that it comes from. */
export interface Entering extends Upgrade {
  readonly port: number | undefined
}

/** Says of an upgrade, and of each request that comes by it, why it is refused; `undefined`: it is not. */
export type Admits = (upgrade: Upgrade) => Promise<string | undefined>

/** Parts by which a door of another package, such as the console's, differs from a user's. */
export interface DoorParts {
  /** Default: who may connect may call all that is exposed. */
  readonly admits?: Admits
  /** Default: patterns as `options.expose` says. */
  readonly newService?: (dispatcher: Dispatcher) => Exposed
}

const MAX_METADATA_READERS = 16
/** Milliseconds in which a service must be there when its app listens. */
const START = 2_000
/** Most upgrades that wait for that. */
const MOST_AWAITING = 1_000
/** Most lines about refused pages in 10 s. */
const MOST_REFUSED = 5

/** Takes connections for the services behind it. */
export class WebSocketDoor {
  readonly #options: CheckedOptions
  readonly #admits: Admits | undefined
  readonly #newService: (dispatcher: Dispatcher) => Exposed
  readonly #limits: ServerLimits
  readonly #times: ConnectionTimes
  readonly #resumable: ResumableConnections | undefined
  readonly #sessions = new Set<Session>()
  readonly #services = new Set<Exposed>()
  readonly #metadataReaders = new Map<string, MetadataReader>()
  /** Upgrades that wait for a service: each callback ends the wait of one. */
  readonly #awaited: (() => void)[] = []
  /** The logger of the first service. */
  #logger: Logger = consoleLogger
  /** Patterns that are exposed were compared with those of the services. */
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
        // The first service, and with it the logger, is known only later.
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

  /** Makes the server by which a service answers here. */
  newServer({ logger }: ServerContext): ServerTransport {
    let service: Exposed | undefined
    return {
      name: 'websocket',
      start: async (dispatcher) => {
        service = this.#newService(dispatcher)
        if (this.#services.size === 0) this.#logger = logger
        this.#services.add(service)
        for (const resolve of this.#awaited.splice(0)) resolve()
        this.#times.start()
      },
      stop: async (options) => {
        if (service !== undefined && this.#services.delete(service)) await this.#drain(options)
      },
      stats: () => this.stats()
    }
  }

  stats(): WebSocketStats {
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
      inFlight: { current: inFlight, limit: 0 },
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
   * Ends all connections when what is in flight there has ended: some of it may be of the service that stops. Clients
   * connect again, for the services that remain.
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

  readonly #dispatcher: Dispatcher = {
    routes: () => [...this.#services].flatMap(({ dispatcher }) => dispatcher.routes()),
    request: (message) => {
      for (const service of this.#services)
        if (service.takes(message)) return service.dispatcher.request(message)
      throw PatternNotFoundError.of(message.pattern)
    },
    event: (message) => {
      const those = [...this.#services].filter((service) => service.takes(message))
      if (those.length === 0) throw PatternNotFoundError.of(message.pattern)
      if (those.length === 1) return (those[0] as Exposed).dispatcher.event(message)
      return Promise.all(those.map(async ({ dispatcher }) => dispatcher.event(message))).then(() => {})
    }
  }

  /** The services, as a client of this upgrade finds them. */
  #dispatcherFor(upgrade: Upgrade): Dispatcher {
    const [admits, dispatcher] = [this.#admits, this.#dispatcher]
    if (admits === undefined) return dispatcher
    const admitted = async (): Promise<void> => {
      const refusal = await admits(upgrade)
      if (refusal !== undefined) throw new RpcError({ code: 'FORBIDDEN', message: refusal })
    }
    return {
      routes: () => dispatcher.routes(),
      request: (message) => admitted().then(() => dispatcher.request(message)),
      event: (message) => admitted().then(() => dispatcher.event(message))
    }
  }

  // ── connections ──────────────────────────────────────────────────────────────────────────────────────

  /** Resolves when there is a service, or has been none for a while: an app that starts listens before they do. */
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

  /** Why an upgrade is refused; `undefined` if it is not. */
  async refusal(upgrade: Upgrade): Promise<Refusal | undefined> {
    const { headers, address } = upgrade
    const { origins, limits } = this.#options
    const forbidden = await this.#admits?.(upgrade)
    if (forbidden !== undefined) return { status: 403, reason: forbidden }
    const foreign = originRefusal(headers, origins)
    if (foreign !== undefined) {
      // The page cannot see why.
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
    const isFull = this.#sessions.size >= connections
    if (!isFull && (most === 0 || this.#count(({ remote }) => remote.remoteAddress === address) < most))
      return undefined
    const reason = isFull
      ? `There are as many connections as limits.connections allows (${connections})`
      : `There are as many connections of one address as limits.connectionsPerAddress allows (${most})`
    this.#limits.refused('connections', reason)
    return { status: 503, reason }
  }

  /** A client has come through. */
  enter(raw: RawSocket, entering: Entering, byTurns: boolean): RawListener {
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
    // From now on, so that its time counts also while nothing comes.
    session.adopt(new ServerHandshake(this.#connectionOptions(entering), session))
    return rawListener(session, byTurns, () => {
      socket.closeCode = CloseCode.UNSUPPORTED_DATA
      session.end(new ProtocolError('The client sent a text message; RSocket has only binary ones'))
    })
  }

  #count(which: (session: Session) => boolean): number {
    return [...this.#sessions].filter(which).length
  }

  #connectionOptions(entering: Entering): ServerConnectionOptions {
    const { limits, authenticate } = this.#options
    return {
      transport: 'websocket',
      dispatcher: this.#dispatcherFor(entering),
      logger: this.#logger,
      maxMessageSize: limits.messageSize,
      maxBufferSize: limits.receiveBuffer,
      maxUnsent: limits.sendBuffer,
      maxFrameLength: LONGEST_FRAME,
      newTimer,
      authenticate: authenticate && this.#judge(entering, authenticate),
      refuses: (user) => this.#refuseUser(user),
      handshakeTimeout: limits.handshake,
      limits: this.#limits,
      metadataReader: (mimeType) => this.#metadataReader(mimeType),
      resumable: this.#resumable
    }
  }

  #judge(upgrade: Upgrade, authenticate: NonNullable<CheckedOptions['authenticate']>): Judge {
    return async ({ credentials, route }) => {
      const said = await authenticate({ credentials, upgrade, route })
      const { user } = Object(said) as { user?: unknown }
      if (typeof user === 'string') return new Accepted(user)
      if (said !== false && said !== undefined)
        this.#logger.error(
          `A client was refused: authenticate must return { user: 'a name' } to let it in, or false`
        )
      return false
    }
  }

  #refuseUser(user: string): string | undefined {
    const { connectionsPerUser: most } = this.#options.limits
    const isUsers = ({ protocol }: Session) => (protocol as { user?: unknown } | undefined)?.user === user
    if (this.#count(isUsers) < most) return undefined
    const reason = `There are as many connections of this user as limits.connectionsPerUser allows (${most})`
    this.#limits.refused('connections', reason)
    return reason
  }

  #metadataReader(mimeType: string): MetadataReader {
    const known = this.#metadataReaders.get(mimeType)
    if (known !== undefined) return known
    const reader = new MetadataReader(mimeType)
    // Clients choose the type: few are remembered, so that a flood of different types cannot fill the memory.
    if (this.#metadataReaders.size < MAX_METADATA_READERS) this.#metadataReaders.set(mimeType, reader)
    return reader
  }

  /** Says which patterns of `expose` no handler has: a mistyped one would be a handler that nobody reaches. */
  #compare(): void {
    if (this.#isCompared) return
    this.#isCompared = true
    for (const pattern of this.#options.expose) {
      const isThere = [...this.#services].some(({ dispatcher }) =>
        new Exposed([pattern], dispatcher).routes.some(() => true)
      )
      if (!isThere)
        this.#logger.warn(`websocket(): options.expose has '${pattern}', for which there is no handler`)
    }
  }
}

function later(task: () => void, delay: number): () => void {
  const timer = setTimeout(task, delay)
  timer.unref()
  return () => clearTimeout(timer)
}

/** One connection to NATS: the only place that knows how the driver connects, loses its server and finds another. */
import { ConnectionError, OverloadedError, UnauthenticatedError } from '@elysia-microservices/transport/kit'
import {
  connect,
  errors,
  type Msg,
  type MsgHdrs,
  type NatsConnection,
  type NodeConnectionOptions,
  type Subscription
} from '@nats-io/transport-node'
import { bytesOf } from './wire.ts'

/** Who is told of a connection. */
export interface LinkListener {
  /** The server is lost; the driver looks for another. */
  lost(): void
  /** There is a server again. */
  restored(server: string): void
  /** The server does not let this user publish to a subject, or subscribe to it. */
  refused(subject: string, operation: string, error: Error): void
  /** A message could not be published. What it throws, whoever publishes gets. */
  unpublished(subject: string, error: Error): void
  /** Handling a message has failed. */
  failed(error: unknown): void
  /** The connection is over, and not because it was closed. */
  ended(error: Error | undefined): void
}

/** Bytes of answers that may wait for a server. */
const MAX_HELD = 64 * 1024 * 1024
/** Bytes on their way to the server from which streams wait. The driver would keep all that the server does not take. */
const WINDOW = 1024 * 1024
/** Bytes after which the server is asked whether it has them. */
const ASKING = WINDOW / 4

/**
 * Bytes that the driver collects in a turn before it writes them. Its own limit, twice as many, is what a hundred small
 * requests of one turn have together: they would go round as one convoy, and client, server and service wait for each
 * other. The driver reads the option, and its types lack it.
 */
const EARLY_WRITES: object = { pendingLimit: 16 * 1024 }

/** Who sends much, and waits while there is no room. */
export interface Sender {
  /** There may be room again. */
  resume(): void
}

interface HeldMessage {
  readonly subject: string
  readonly payload: string | Uint8Array
  readonly reply: string | undefined
  readonly headers: MsgHdrs | undefined
}

/** A connection that has been made. */
export class Link {
  readonly #connection: NatsConnection
  readonly #listener: LinkListener
  #isConnected = true
  #isClosing = false
  /** What was published while there was no server. */
  #held: HeldMessage[] = []
  #heldSize = 0
  /** Bytes published, and those of them that the server is known to have. */
  #published = 0
  #arrived = 0
  #isAsking = false
  #senders = new Set<Sender>()

  private constructor(connection: NatsConnection, listener: LinkListener) {
    this.#connection = connection
    this.#listener = listener
    void this.#watch(listener)
  }

  /**
   * Connects.
   * @throws {ConnectionError} no server can be reached
   * @throws {UnauthenticatedError} the server does not accept the credentials
   */
  static async open(options: NodeConnectionOptions, listener: LinkListener): Promise<Link> {
    try {
      return new Link(await connect({ ...EARLY_WRITES, ...options }), listener)
    } catch (error) {
      throw connectFailure(options, error)
    }
  }

  get isConnected(): boolean {
    return this.#isConnected
  }

  /** Where the server is: `host:port`. */
  get server(): string {
    return this.#connection.getServer()
  }

  /** Bytes that one message may have, headers included. */
  get maxPayload(): number {
    return this.#connection.info?.max_payload ?? 1024 * 1024
  }

  /** The driver's connection, for what asks JetStream. */
  get connection(): NatsConnection {
    return this.#connection
  }

  /** Publishes now; while there is no server, once there is one. */
  publish(subject: string, payload: string | Uint8Array, reply?: string, headers?: MsgHdrs): void {
    if (!this.#isConnected) return this.#hold({ subject, payload, reply, headers })
    try {
      const bytes = typeof payload === 'string' ? bytesOf(payload) : payload
      if (headers !== undefined)
        this.#connection.publish(subject, bytes, reply === undefined ? { headers } : { reply, headers })
      else if (reply !== undefined) this.#connection.publish(subject, bytes, { reply })
      else this.#connection.publish(subject, bytes)
      this.#published += bytes.length
      if (!this.#isAsking && this.#published - this.#arrived >= ASKING) void this.#ask()
    } catch (error) {
      this.#listener.unpublished(subject, error as Error)
    }
  }

  /** Whether a stream may send more. If not, the sender is called when it may. */
  hasRoomFor(sender: Sender): boolean {
    if (this.#hasRoom) return true
    this.#senders.add(sender)
    return false
  }

  get #hasRoom(): boolean {
    return this.#isConnected && this.#published - this.#arrived < WINDOW
  }

  /** Asks the server whether it has what was published, until little is on its way. It answers what it reads in order. */
  async #ask(): Promise<void> {
    this.#isAsking = true
    while (this.#published - this.#arrived >= ASKING) {
      const published = this.#published
      try {
        await this.#connection.flush()
      } catch {
        // The server is lost, and what was on its way to it. That may be known before the driver says so.
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
      this.#arrived = published
      this.#resumeSenders()
    }
    this.#isAsking = false
  }

  #resumeSenders(): void {
    const senders = this.#senders
    this.#senders = new Set()
    const unserved: Sender[] = []
    for (const sender of senders) {
      if (this.#hasRoom) sender.resume()
      else unserved.push(sender)
    }
    // They go first the next time: otherwise a stream that always has values would take all the room.
    if (unserved.length > 0) this.#senders = new Set([...unserved, ...this.#senders])
  }

  subscribe(
    subject: string,
    queue: string | undefined,
    callback: (error: Error | null, message: Msg) => void
  ): Subscription {
    const guarded = (error: Error | null, message: Msg) => {
      try {
        callback(error, message)
      } catch (cause) {
        // The driver would stop reading, and say nothing.
        this.#listener.failed(cause)
      }
    }
    return this.#connection.subscribe(subject, {
      ...(queue === undefined ? {} : { queue }),
      callback: guarded
    })
  }

  /** Resolves when the server has everything that was published. Rejects if it is lost before. */
  flush(): Promise<void> {
    return this.#connection.flush()
  }

  /** Closes; what was published is sent before, if there is a server. */
  async close(): Promise<void> {
    if (this.#isClosing) return
    this.#isClosing = true
    if (this.#isConnected) await this.#connection.flush().catch(() => {})
    await this.#connection.close()
  }

  async #watch(listener: LinkListener): Promise<void> {
    for await (const status of this.#connection.status()) {
      if (status.type === 'disconnect') {
        if (!this.#isConnected) continue
        this.#isConnected = false
        if (!this.#isClosing) listener.lost()
      } else if (status.type === 'reconnect') {
        this.#isConnected = true
        this.#sendHeld()
        listener.restored(this.server)
        this.#resumeSenders()
      } else if (status.type === 'error') {
        const { error } = status
        if (error instanceof errors.PermissionViolationError)
          listener.refused(error.subject, error.operation, error)
      }
    }
    const error = await this.#connection.closed()
    this.#isConnected = false
    if (!this.#isClosing) listener.ended(error instanceof Error ? error : undefined)
  }

  #hold(message: HeldMessage): void {
    this.#heldSize += message.payload.length
    if (this.#heldSize > MAX_HELD) {
      this.#heldSize -= message.payload.length
      const why = `${MAX_HELD} bytes wait for a NATS server already`
      return this.#listener.unpublished(message.subject, new OverloadedError(why))
    }
    this.#held.push(message)
  }

  #sendHeld(): void {
    const held = this.#held
    this.#held = []
    this.#heldSize = 0
    for (const { subject, payload, reply, headers } of held) this.publish(subject, payload, reply, headers)
  }
}

function connectFailure({ servers, port, tls }: NodeConnectionOptions, error: unknown): Error {
  const where = [servers ?? `localhost:${port ?? 4222}`].flat().join(', ')
  const cause = error instanceof Error ? error : new Error(String(error))
  if (
    cause instanceof errors.AuthorizationError ||
    cause instanceof errors.UserAuthenticationExpiredError ||
    cause.cause instanceof errors.AuthorizationError
  )
    return new UnauthenticatedError(
      `NATS at ${where} does not accept the credentials (${cause.message}); check user and pass, token, authenticator or tls`
    )
  return new ConnectionError(
    `Cannot reach NATS at ${where}: ${cause.message}; ${adviceOn(cause.message, tls)}`,
    false,
    cause.cause instanceof Error ? cause.cause : cause
  )
}

/** What to do about a failure, which the driver tells by its text only. */
function adviceOn(message: string, tls: NodeConnectionOptions['tls']): string {
  const start = 'start nats-server there, or check options.servers'
  // The alert of such a server comes after the handshake, and the driver does not hear it.
  if (tls && tls.certFile === undefined && tls.cert === undefined && /timeout/i.test(message))
    return `${start}; if the server wants certificates of its clients, give options.tls a certFile and a keyFile`
  return /certificate|tls|doesn't exist|issuer|self.signed/i.test(message)
    ? 'check options.tls and the certificate of the server'
    : start
}

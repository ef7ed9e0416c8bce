/**
 * One connection of a client from its first attempt to its end. A resumable connection survives the loss of its socket:
 * it tries to make a new socket, with growing pauses, until the window for resuming ends.
 */

import type { ClientProtocol, Credentials, ProtocolConnection } from '@elysia-microservices/rsocket'
import { cannotConnect, NEST_HINT, reasonOf } from '@elysia-microservices/rsocket'
import type { Link, LinkParts } from '@elysia-microservices/rsocket/pool'
import { NOBODY, Session, type SessionOptions, type Socket } from '@elysia-microservices/rsocket/session'
import { type Logger, UnauthenticatedError, unlessAborted } from '@elysia-microservices/transport/kit'
import type { CheckedClientOptions } from '../options/client-options.ts'
import { clientTls } from '../options/security-options.ts'
import { nameOfPlace } from '../options/shared-options.ts'
import { TlsFailure } from '../socket/tls-failure.ts'
import { FirstChunk } from './first-chunk.ts'

/** Bounds of the pauses between attempts to resume, in milliseconds. A pause doubles with each attempt. */
const FIRST_PAUSE = 50
const LONGEST_PAUSE = 2_000

/** Codes of a connection that the other side has closed while there was more to read or to write. */
const RESET: readonly (string | undefined)[] = ['ECONNRESET', 'EPIPE']

/** Connects a client's protocol with its socket. If the connection is resumed, its sockets follow one another. */
export class TcpLink implements Link {
  readonly protocol: ClientProtocol
  /** The server's address for messages, such as `tcp://localhost:4000`. */
  readonly where: string
  /** Resolves when the connection is made; rejects if it cannot be made. */
  readonly connected: Promise<void>
  /** Resolves when the connection has ended, with the reason if there is one. */
  readonly closed: Promise<Error | undefined>
  readonly #options: CheckedClientOptions
  readonly #logger: Logger
  readonly #over: (reason: Error | undefined) => void
  #session: Session | undefined
  #attempt: AbortController | undefined
  #retry: ReturnType<typeof setTimeout> | undefined
  /** Until this time the connection may be resumed, on the clock of `performance.now()`. */
  #resumesUntil = 0
  /** Milliseconds until the next attempt to resume, at most. */
  #pause = FIRST_PAUSE
  #isEnding = false
  /** The connection has had a socket, so the next socket resumes it. */
  #isSetUp = false
  /** Why this client cannot talk to the server, for example because the server speaks HTTP. */
  #refusal: Error | undefined

  /**
   * Starts to connect.
   * @param options the client's options, with `host` and `port` of the endpoint
   */
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

  /** Waits for calls in flight, then closes. While the connection is being made or restored, it ends at once. */
  drain(): void {
    if (this.#session === undefined) return this.#giveUp('its endpoint was removed')
    this.#isEnding = true
    void this.#session.drained()
  }

  /** Ends the connection at once, even while it is being made; its calls fail. */
  end(): void {
    if (this.#session === undefined) return this.#giveUp('the client was closed')
    this.#isEnding = true
    this.protocol.leave?.()
    this.#session.end()
    this.protocol.close()
  }

  /** Ends a connection that has no socket. */
  #giveUp(why: string): void {
    this.#isEnding = true
    clearTimeout(this.#retry)
    const reason = new Error(why)
    this.#attempt?.abort(reason)
    this.#finish(reason)
  }

  async #connect(): Promise<void> {
    const { host, port, path, sockets, connectTimeout } = this.#options
    const attempt = new AbortController()
    this.#attempt = attempt
    const timer = setTimeout(() => {
      attempt.abort(new Error(`no connection within options.connectTimeout (${connectTimeout} ms)`))
    }, connectTimeout)
    try {
      const tls =
        this.#options.tls === undefined
          ? undefined
          : await unlessAborted(clientTls(this.#options.tls), attempt.signal)
      // A resumed connection keeps its user, so no credentials are read for it.
      const credentials = this.#isSetUp ? undefined : this.#options.credentials
      const asked =
        typeof credentials === 'function' ? await unlessAborted(credentials(), attempt.signal) : credentials
      let isInTheClear = false
      const accept = (socket: Socket) => {
        isInTheClear = tls !== undefined && socket.encrypted !== true
        if (!isInTheClear) return this.#accept(socket, asked)
        queueMicrotask(() => socket.destroy())
        return NOBODY
      }
      await sockets.connect({ host, port, path, tls }, accept, attempt.signal)
      if (isInTheClear) throw new Error('options.sockets does not support TLS')
    } finally {
      clearTimeout(timer)
    }
  }

  #accept(socket: Socket, credentials: Credentials | undefined): Session {
    const { protocol } = this
    const { incompleteMessage, sendBuffer } = this.#options.limits
    const first =
      socket.encrypted === true
        ? protocol
        : new FirstChunk(protocol, (reason) => this.#refuse(session, reason))
    const options: SessionOptions = {
      logger: this.#logger,
      incompleteMessageTimeout: incompleteMessage,
      // `sendBuffer` limits only calls. Frames of calls that were already sent (further values of a channel, demand,
      // cancellation) need additional room, because otherwise this end would cut its own busy connection.
      maxUnsent: 2 * sendBuffer,
      protocol: () => first,
      closed: (_session, _protocol, error) => this.#lost(this.#unanswered(first, error) ?? error)
    }
    const session: Session = new Session(socket, options, first)
    if (first instanceof FirstChunk) first.output = session
    this.#session = session
    protocol.open(session, credentials)
    this.#isSetUp = true
    return session
  }

  /**
   * The error of a server that has closed a connection without a word, or has reset it because more came behind;
   * `undefined` if it has sent something, or the connection has ended for another reason.
   */
  #unanswered(first: ProtocolConnection, error: Error | undefined): Error | undefined {
    if (this.#isEnding || this.#options.protocol === 'nest') return undefined
    if (error !== undefined && !RESET.includes((error as NodeJS.ErrnoException).code)) return undefined
    if (!(first instanceof FirstChunk) || first.hasReceived) return undefined
    return new Error(`the server closed the connection before it answered; ${NEST_HINT}`, { cause: error })
  }

  /** The socket is lost: resumes the connection, or ends it. */
  #lost(error: Error | undefined): void {
    this.#session = undefined
    const { resume } = this.#options.rsocket
    const reason = this.#refusal ?? this.protocol.reason ?? error
    const isHopeless =
      reason instanceof UnauthenticatedError || (reason instanceof TlsFailure && reason.code !== 'TLS_CLOSED')
    const isAnew = this.protocol.isResuming !== true
    if (this.#isEnding || isHopeless || resume === undefined || this.protocol.lost?.() !== true)
      return this.#finish(reason)
    // Something that accepts connections and closes them again is not asked in a loop.
    if (!isAnew) return this.#resumeLater(reason)
    this.#resumesUntil = performance.now() + resume.window
    this.#pause = FIRST_PAUSE
    void this.#resume()
  }

  #refuse(session: Session, reason: Error): void {
    this.#refusal = reason
    session.destroy()
  }

  async #resume(): Promise<void> {
    try {
      await this.#connect()
    } catch (cause) {
      if (!this.#isEnding) this.#resumeLater(cause as Error)
    }
  }

  /** @param cause why the last attempt has failed */
  #resumeLater(cause: Error | undefined): void {
    const pause = this.#pause
    if (performance.now() + pause > this.#resumesUntil) return this.#finish(cause)
    this.#pause = Math.min(pause * 2, LONGEST_PAUSE)
    // A random pause, so that clients which lost the same server do not all reconnect at the same moment.
    this.#retry = setTimeout(() => void this.#resume(), Math.random() * pause)
  }

  #finish(reason?: Error): void {
    // `over` is called first, so that retries do not choose this connection.
    this.#over(reason)
    this.protocol.close(reason)
  }
}

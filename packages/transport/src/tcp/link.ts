/**
 * One connection of a client from its first attempt to its end. A resumable one survives its socket: another
 * is made, again and again with growing pauses, until the window for resumption closes.
 */
import { ConnectionError } from '../errors.ts'
import type { ClientProtocol, Timer } from '../protocol/connection.ts'
import { readQueue } from '../read-queue.ts'
import { Session, type SessionOptions } from '../session.ts'
import { NOBODY, type Socket } from '../socket/socket.ts'
import { TlsFailure } from '../socket/tls-failure.ts'
import { DeadlineTimer } from './deadline-timer.ts'
import { FirstChunk } from './first-chunk.ts'
import type { clientOptions } from './options.ts'
import { clientTls } from './security-options.ts'

/** Pause before the second attempt to resume, in milliseconds; it doubles with each, up to the longest. */
const FIRST_PAUSE = 50
const LONGEST_PAUSE = 2_000

/** Joins a client's protocol and its socket, or its sockets one after the other. */
export class Link {
  readonly protocol: ClientProtocol
  /** Settles when the connection is made, or could not be. */
  readonly connected: Promise<void>
  /** Resolves when it is over, with the reason if there is one. */
  readonly closed: Promise<Error | undefined>
  readonly #options: ReturnType<typeof clientOptions>
  readonly #over: (reason: Error | undefined) => void
  #session: Session | undefined
  #attempt: AbortController | undefined
  #retry: ReturnType<typeof setTimeout> | undefined
  #ending = false
  /** The server is not one that this client can talk to. */
  #refusal: TlsFailure | undefined

  /**
   * Starts to connect.
   * @param over is called when the connection is over, before its calls fail
   */
  constructor(
    options: ReturnType<typeof clientOptions>,
    makeProtocol: (timer: Timer) => ClientProtocol,
    over: (reason: Error | undefined) => void
  ) {
    this.#options = options
    this.protocol = makeProtocol(new DeadlineTimer((now) => this.protocol.wake(now)))
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
      throw new ConnectionError(`Connection failed: ${cause.message}`, false, cause)
    })
    // Whoever calls learns it from the call; `connect()` awaits the promise itself.
    this.connected.catch(() => {})
  }

  /** Lets calls in flight end, then closes. */
  drain(): void {
    this.#ending = true
    void this.#session?.drained()
  }

  /** Ends the connection, made or not; calls that wait fail. */
  end(): void {
    // Answers that were read just now are answers.
    readQueue.handle()
    this.#ending = true
    clearTimeout(this.#retry)
    if (this.#session === undefined) {
      this.#attempt?.abort(new Error('the client was closed'))
      return this.#finish(new Error('the client was closed'))
    }
    this.protocol.leave?.()
    this.#session.end()
    this.protocol.close()
  }

  async #connect(): Promise<void> {
    const { host, port, path, sockets, connectTimeout } = this.#options
    const attempt = new AbortController()
    this.#attempt = attempt
    const timer = setTimeout(() => {
      attempt.abort(
        new Error(
          `no connection to ${path ?? `${host}:${port}`} within connectTimeout (${connectTimeout} ms)`
        )
      )
    }, connectTimeout)
    try {
      const tls = this.#options.tls === undefined ? undefined : await this.#tls(attempt.signal)
      let inTheClear = false
      const accept = (socket: Socket) => {
        inTheClear = tls !== undefined && socket.encrypted !== true
        if (!inTheClear) return this.#accept(socket)
        queueMicrotask(() => socket.destroy())
        return NOBODY
      }
      await sockets.connect({ host, port, path, tls }, accept, attempt.signal)
      if (inTheClear) throw new Error('options.sockets do not speak TLS')
    } finally {
      clearTimeout(timer)
    }
  }

  /** TLS as it is now: a function is asked, but not waited for longer than the attempt lasts. */
  #tls(signal: AbortSignal): ReturnType<typeof clientTls> {
    const aborted = new Promise<never>((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    })
    return Promise.race([clientTls(this.#options.tls), aborted])
  }

  #accept(socket: Socket): Session {
    const { protocol } = this
    const closed: SessionOptions['closed'] = (_session, _protocol, error) => this.#lost(error)
    const first = socket.encrypted === true ? protocol : new FirstChunk(protocol, () => this.#refuse(session))
    const { logger, incompleteMessageTimeout, maxSendBufferSize } = this.#options
    const common = { logger, incompleteMessageTimeout, maxSendBufferSize }
    const session: Session = new Session(socket, { ...common, protocol: () => first, closed }, first)
    if (first instanceof FirstChunk) first.output = session
    this.#session = session
    protocol.open(session)
    return session
  }

  /** The socket is gone: for good, or until another is there. */
  #lost(error: Error | undefined): void {
    this.#session = undefined
    const { resume } = this.#options
    const reason = this.#refusal ?? error
    const hopeless = reason instanceof TlsFailure && reason.code !== 'TLS_CLOSED'
    if (this.#ending || hopeless || resume === undefined || this.protocol.lost?.() !== true)
      return this.#finish(reason)
    void this.#resume(performance.now() + resume.window, FIRST_PAUSE)
  }

  #refuse(session: Session): void {
    this.#refusal = new TlsFailure('TLS_NEEDED', 'the server speaks TLS, and this client has no options.tls')
    session.destroy()
  }

  async #resume(until: number, pause: number): Promise<void> {
    try {
      await this.#connect()
    } catch (cause) {
      if (this.#ending) return
      if (performance.now() + pause > until) return this.#finish(cause as Error)
      // Full jitter: clients that lost the same server do not come back at the same moment.
      this.#retry = setTimeout(() => {
        void this.#resume(until, Math.min(pause * 2, LONGEST_PAUSE))
      }, Math.random() * pause)
    }
  }

  #finish(reason?: Error): void {
    // First, so that calls that are made again do not come here.
    this.#over(reason)
    this.protocol.close(reason)
  }
}

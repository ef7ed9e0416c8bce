/** The client for one address. It connects at the first call, and reconnects when the connection is lost. */
import {
  type AskCredentials,
  cannotConnect,
  ErrorCode,
  type NewResponder,
  type ResumeOptions,
  type ToWireError,
  writeName
} from '@elysia-microservices/rsocket'
import {
  type ByteWriter,
  backoffDelay,
  type ClientContext,
  type ClientStatus,
  type ClientTransport,
  ConnectionError,
  type ConnectionEvent,
  type ConnectionListener,
  DEFAULT_RETRY,
  DeadlineTimer,
  forOneMore,
  INTERNAL_ERROR_TEXT,
  OpenCalls,
  PendingCaller,
  RetryPolicy,
  RpcError,
  type Timer,
  type TimerOwner,
  UnauthenticatedError
} from '@elysia-microservices/transport/kit'
import { Link, type LinkOptions, type LinkOwner } from './link.ts'
import type { NewWebSocket } from './web-socket.ts'

/** The parts from which a client is made. */
export interface ClientInit {
  readonly url: URL
  readonly dataMimeType: string
  readonly credentials: AskCredentials
  readonly resume: Required<ResumeOptions> | undefined
  readonly socket: () => NewWebSocket
  readonly connectTimeout: number
  /** Makes the responder that answers the server's calls. */
  readonly responder: NewResponder | undefined
}

/** Pauses between attempts to connect, in milliseconds. */
const PAUSES = { minDelay: 100, maxDelay: 10_000 }
/**
 * Events after which a page's connection may be dead without notice: the page was frozen, or the computer was
 * asleep or has changed its network.
 */
const BACK = ['online', 'pageshow', 'visibilitychange']
/** Milliseconds within which the server must send something after such an event. */
const BACK_WITHIN = 3_000
/**
 * Milliseconds between two checks while a page is visible, and milliseconds within which the server must then send
 * something. The latter is long, because the page's network may be slow.
 */
const LOOK = 20_000
const LOOK_WITHIN = 10_000
const page = globalThis as {
  readonly document?: { readonly visibilityState: string }
  readonly addEventListener?: (type: string, listener: () => void) => void
  readonly removeEventListener?: (type: string, listener: () => void) => void
}
const LARGEST = 16 * 1024 * 1024

/**
 * Turns an error in the input of a channel into the same error as a handler's failure, so that only errors which
 * were thrown on purpose leave this process with their content.
 */
const toWireError: ToWireError = (error, logger, of) => {
  let unsaid = error
  // An error that was received from another service is only passed on with `pass()`.
  if (error instanceof RpcError && error.received === undefined)
    try {
      const { status: _, ...content } = error.toJSON()
      return { code: ErrorCode.APPLICATION_ERROR, data: JSON.stringify(content) }
    } catch (cause) {
      unsaid = cause
    }
  logger.error(String(of), unsaid)
  return { code: ErrorCode.APPLICATION_ERROR, data: INTERNAL_ERROR_TEXT }
}

/** The options that the connections of a client to all its servers share. */
export function linkOptions<Init extends Omit<ClientInit, 'url'>>(
  init: Init,
  { logger, name, timeout }: ClientContext
) {
  return {
    ...init,
    logger,
    ...(name !== undefined && { introduce: (out: ByteWriter) => writeName(out, name) }),
    timeout,
    keepaliveInterval: 20_000,
    keepaliveLifetime: 90_000,
    maxMessageSize: LARGEST,
    maxBufferSize: LARGEST,
    maxUnsent: LARGEST,
    newTimer: (owner: TimerOwner): Timer => new DeadlineTimer(owner)
  }
}

/** Calls one server. */
export class WebSocketClient extends PendingCaller implements ClientTransport, LinkOwner {
  readonly name = 'websocket'
  readonly #context: ClientContext
  #options: LinkOptions
  readonly #endpoint: string
  readonly #listeners = new Set<ConnectionListener>()
  /** The calls that wait for a connection. */
  readonly #calls: OpenCalls
  /** The current connection; it stays here while it is being resumed. */
  #current: Link | undefined
  /** The same connection, but only while it takes calls. */
  #link: Link | undefined
  /** All connections that are not over: those that are being made, in use, being resumed, or draining. */
  readonly #links = new Set<Link>()
  #startedBefore = 0
  #connecting: Promise<void> | undefined
  #pause: ReturnType<typeof setTimeout> | undefined
  #attempts = 0
  #everConnected = false
  /** The reason why there is no connection. */
  #reason: Error | undefined
  #status: ClientStatus = 'disconnected'
  #look: ReturnType<typeof setInterval> | undefined

  constructor({ url, ...init }: ClientInit, context: ClientContext) {
    super((call) => (this.#link?.protocol.calls ?? this.#calls).start(call), context.timeout)
    const { timeout, waitForConnection } = context
    this.#context = context
    this.#endpoint = url.host
    this.#options = {
      ...linkOptions(init, context),
      where: url.href,
      endpoint: url.host,
      toWireError,
      handOver: (call) => this.#calls.start(call),
      eventRefused: (pattern, error) => {
        this.#context.logger.warn(`The event '${pattern}' was refused: ${error.message}`)
        this.#tell({ type: 'event-refused', pattern, endpoint: url.host, error })
      },
      recover: (call, error) =>
        this.#calls.retry(call, error, { started: this.#startedBefore + (this.#link?.started ?? 0) })
    }
    this.#calls = new OpenCalls({
      sender: {
        send: (call) => {
          if (this.#link !== undefined) return this.#link.protocol.calls.start(call)
          this.#calls.wait(call, undefined, !this.#everConnected)
          if (this.#pause === undefined && this.#status !== 'reconnecting') this.connect().catch(() => {})
        },
        // A call that waits here has not been sent yet, so there is nothing to cancel.
        cancel() {}
      },
      retries: new RetryPolicy(DEFAULT_RETRY, performance.now()),
      notices: { tell: (event) => this.#tell(event) },
      endpoint: () => this.#endpoint,
      unreached: (call) => call.unconnected(waitForConnection, this.#reason),
      timeout,
      waitForConnection
    })
    for (const type of BACK) page.addEventListener?.(type, this.#back)
    if (page.document !== undefined) this.#look = setInterval(() => this.#check(LOOK_WITHIN), LOOK)
  }

  /** Called when the page is visible again, or when the network is back. */
  readonly #back = (): void => this.#check(BACK_WITHIN)

  #check(within: number): void {
    if (page.document?.visibilityState === 'hidden') return
    this.#current?.check(within)
    if (this.#pause !== undefined) this.connect().catch(() => {})
  }

  get status(): ClientStatus {
    return this.#status
  }

  onStatus(listener: ConnectionListener): () => void {
    const entry: ConnectionListener = (event) => listener(event)
    this.#listeners.add(entry)
    return () => this.#listeners.delete(entry)
  }

  connect(): Promise<void> {
    if (this.#status === 'closed') return Promise.reject(ConnectionError.closed())
    if (this.#current !== undefined) return Promise.resolve()
    clearTimeout(this.#pause)
    this.#pause = undefined
    this.#connecting ??= this.#connect().finally(() => {
      this.#connecting = undefined
    })
    return this.#connecting
  }

  async close(): Promise<void> {
    // If the caller of `connect()` does not await the promise and then closes the client, the rejection must not
    // count as unhandled.
    this.#connecting?.catch(() => {})
    for (const type of BACK) page.removeEventListener?.(type, this.#back)
    clearInterval(this.#look)
    clearTimeout(this.#pause)
    this.#link = this.#current = undefined
    this.#turn('closed')
    this.#calls.close(ConnectionError.closed)
    const links = [...this.#links]
    for (const link of links) {
      link.protocol?.calls.close(ConnectionError.closed)
      link.end()
    }
    await Promise.all(links.map(({ closed }) => closed))
  }

  async #connect(): Promise<void> {
    this.#turn(this.#everConnected ? 'reconnecting' : 'connecting')
    const link = new Link(this.#options, this)
    this.#links.add(link)
    try {
      await link.connected
    } catch (error) {
      const { message } = error as Error
      if (
        this.#options.resume !== undefined &&
        /(REJECTED|UNSUPPORTED)_SETUP/.test(message) &&
        /resum/i.test(message)
      ) {
        // The server cannot resume sessions. The client connects without resuming; everything else may still work.
        this.#options = { ...this.#options, resume: undefined }
        return this.#connect()
      }
      this.#failed(error as Error)
      throw error
    }
    this.#everConnected = true
    this.#attempts = 0
    this.#tell({ type: 'connected', endpoint: this.#endpoint })
    this.resumed(link)
  }

  #failed(error: Error): void {
    if (this.#status === 'closed') return
    this.#reason = error
    this.#tell({ type: 'connect-failed', endpoint: this.#endpoint, error })
    if (this.#everConnected && !(error instanceof UnauthenticatedError)) return this.#reconnect()
    this.#giveUp(error, error.cause as Error)
  }

  /** After a refusal only the next call connects again, because the credentials do not change by themselves. */
  #giveUp(error: Error, cause: Error): void {
    this.#turn('disconnected')
    this.#calls.failWaiting((mayHaveRun) =>
      error instanceof UnauthenticatedError
        ? forOneMore(error)
        : cannotConnect(this.#options.where, cause, mayHaveRun)
    )
  }

  #reconnect(): void {
    this.#turn('reconnecting')
    const delay = backoffDelay(PAUSES, this.#attempts++, Math.random())
    this.#tell({ type: 'reconnecting', endpoint: this.#endpoint, attempt: this.#attempts, delay })
    clearTimeout(this.#pause)
    this.#pause = setTimeout(() => this.connect().catch(() => {}), delay)
  }

  // ── calls from links ─────────────────────────────────────────────────────────────────────────────────

  paused(link: Link, isResuming: boolean): void {
    if (this.#current !== link) return
    this.#link = undefined
    if (isResuming) return this.#turn('reconnecting')
    this.#current = undefined
    this.#tell({ type: 'disconnected', endpoint: this.#endpoint, error: undefined })
    this.connect().catch(() => {})
  }

  resumed(link: Link): void {
    if (this.#status === 'closed') return
    this.#link = this.#current = link
    this.#turn('connected')
    this.#calls.release()
  }

  over(link: Link, error: Error): void {
    this.#links.delete(link)
    this.#startedBefore += link.started
    if (this.#current !== link) return
    this.#link = this.#current = undefined
    this.#reason = error
    this.#tell({ type: 'disconnected', endpoint: this.#endpoint, error })
    if ((error as { readonly retryable?: boolean }).retryable === false) this.#giveUp(error, error)
    else this.#reconnect()
  }

  #turn(status: ClientStatus): void {
    if (status === this.#status || this.#status === 'closed') return
    this.#status = status
    this.#tell({ type: 'status', status })
  }

  #tell(event: ConnectionEvent): void {
    for (const listener of this.#listeners) {
      try {
        listener(event)
      } catch (error) {
        this.#context.logger.error('A listener of a client failed', error)
      }
    }
  }
}

/**
 * One connection of a client, from its first attempt to its end. If the server allows it, the connection is resumed
 * over further sockets.
 */
import {
  type AskCredentials,
  ClientConnection,
  type ClientConnectionOptions,
  type Credentials,
  cannotConnect
} from '@elysia-microservices/rsocket'
import { backoffDelay, UnauthenticatedError } from '@elysia-microservices/transport/kit'
import { LONGEST_FRAME, TURNS } from '../wire/messages.ts'
import { WebSocketOutput } from './output.ts'
import { dial, type NewWebSocket, type WebSocketLike } from './web-socket.ts'

/** The address to which a client connects, and its credentials. */
export interface LinkOptions
  extends Omit<ClientConnectionOptions, 'goingAway' | 'lease' | 'resumed' | 'maxFrameLength'> {
  readonly socket: () => NewWebSocket
  readonly connectTimeout: number
  /** Called before each attempt. */
  readonly credentials: AskCredentials
}

/** The client, as its link uses it. */
export interface LinkOwner {
  /** Called when the link takes no new calls: the server is going away, or the socket is lost and may be resumed. */
  paused(link: Link, isResuming: boolean): void
  /** Called when the link takes calls again. */
  resumed(link: Link): void
  /** Called when the link is over, before its calls fail. */
  over(link: Link, reason: Error): void
}

const PAUSES = { minDelay: 50, maxDelay: 2_000 }

/** One connection of a client. */
export class Link {
  readonly #options: LinkOptions
  readonly #owner: LinkOwner
  #protocol: ClientConnection | undefined
  #output: WebSocketOutput | undefined
  #attempt: AbortController | undefined
  /** Resolves when the link can be used; rejects if the connection fails. */
  readonly connected: Promise<void>
  /** Resolves with the reason when the link is over. */
  readonly closed: Promise<Error>
  #resolveClosed!: (reason: Error) => void
  #rejectReady: (reason: Error) => void = () => {}
  #isReady = false
  /** The timer until the socket is looked at. */
  #looking: ReturnType<typeof setTimeout> | undefined
  /** Ends the current pause between attempts. */
  #wake = () => {}
  /** How often the connection could not be resumed since it was lost. */
  #attempts = 0
  #isEnding = false
  #isOver = false
  /** The time at which resuming is given up, while the socket is lost. */
  #resumesUntil = 0

  /**
   * @param protocol takes calls before there is a connection, for servers of this library. Default: made together
   * with the connection
   */
  constructor(options: LinkOptions, owner: LinkOwner, protocol?: ClientConnection) {
    this.#protocol = protocol
    this.#options = options
    this.#owner = owner
    this.closed = new Promise((resolve) => {
      this.#resolveClosed = resolve
    })
    this.connected = this.#open()
  }

  /** The address of the server. */
  get where(): string {
    return this.#options.where
  }

  /**
   * The protocol of the connection, which has its calls. If none was passed in, it exists only after `connected`
   * has resolved.
   */
  get protocol(): ClientConnection {
    return this.#protocol as ClientConnection
  }

  /** The number of calls that were made so far. */
  get started(): number {
    return this.#protocol?.calls.started ?? 0
  }

  /** Lets calls in flight end, then closes the link. */
  drain(): void {
    if (this.#output === undefined) return this.end()
    this.#isEnding = true
    this.#output.drain()
  }

  /** Closes the link at once. Its calls fail. */
  end(): void {
    this.#isEnding = true
    const reason = new Error('the client was closed')
    this.#attempt?.abort(reason)
    this.#protocol?.leave()
    if (this.#output === undefined) return this.#finish(reason)
    this.#output.end()
    this.#protocol?.close()
  }

  /**
   * Checks now whether the server still answers. If the socket is lost, tries now to resume. Only an answer to this
   * check proves that the server is there: other messages may have been sent before. While such messages arrive,
   * the answer may be behind them; while the socket sends, the check itself may wait behind other messages.
   * @param within milliseconds within which the answer or another message must arrive, or bytes must have left
   */
  check(within: number): void {
    this.#wake()
    const output = this.#output
    if (output === undefined) return
    let isAnswered = false
    void this.protocol.confirm().then(() => {
      isAnswered = true
    })
    this.#expect(output, within, () => isAnswered)
  }

  /** Ends a socket if nothing comes from the server, and no bytes leave, while an answer is expected. */
  #expect(output: WebSocketOutput, within: number, isAnswered: () => boolean): void {
    const { received, unsent } = output
    this.#looking = setTimeout(() => {
      if (this.#output !== output || isAnswered()) return
      if (output.received > received || output.unsent < unsent) this.#expect(output, within, isAnswered)
      else output.destroy(new Error(`nothing from the server within ${within} ms`))
    }, within)
  }

  async #open(): Promise<void> {
    try {
      const [socket, credentials] = await this.#dial()
      this.#protocol ??= new ClientConnection({
        ...this.#options,
        // Servers of this library allow each client few calls at a time, and grant further calls by leases.
        lease: socket.protocol === TURNS,
        maxFrameLength: LONGEST_FRAME,
        goingAway: () => {
          this.#owner.paused(this, false)
          this.drain()
        },
        resumed: () => this.#owner.resumed(this)
      })
      const protocol = this.#protocol
      this.#use(socket, credentials)
      // A server that refuses the connection says so now, so that no call is sent to a connection that is about to
      // end.
      await new Promise<void>((resolve, reject) => {
        this.#rejectReady = reject
        void protocol.confirm().then(resolve)
      })
      this.#isReady = true
    } catch (error) {
      this.#finish(error as Error)
      const { where } = this.#options
      throw error instanceof UnauthenticatedError ? error : cannotConnect(where, error as Error)
    }
  }

  /** Opens a socket, and gets the credentials for it. */
  async #dial(): Promise<[WebSocketLike, Credentials | undefined]> {
    const { connectTimeout, credentials, where, socket } = this.#options
    const attempt = new AbortController()
    this.#attempt = attempt
    const timer = setTimeout(
      () => attempt.abort(new Error(`no connection within options.connectTimeout (${connectTimeout} ms)`)),
      connectTimeout
    )
    try {
      const aborted = new Promise<never>((_resolve, reject) => {
        attempt.signal.addEventListener('abort', () => reject(attempt.signal.reason))
      })
      // If the race has ended already, nobody awaits this promise, and its rejection must not count as unhandled.
      aborted.catch(() => {})
      const asked = await Promise.race([credentials(), aborted])
      return [await dial(socket(), where, attempt.signal), asked]
    } finally {
      clearTimeout(timer)
    }
  }

  #use(socket: WebSocketLike, credentials?: Credentials): void {
    const output = new WebSocketOutput(socket, this.protocol, 2 * this.#options.maxUnsent, (reason) => {
      if (this.#output === output) this.#lost(reason)
    })
    this.#output = output
    this.protocol.open(output, credentials)
    this.#expect(output, this.#options.connectTimeout, () => this.#isReady && !this.protocol.isResuming)
  }

  #lost(cause: Error): void {
    this.#output = undefined
    const { protocol } = this
    const reason = protocol.reason ?? cause
    const { resume } = this.#options
    const isFinal = !this.#isReady || (reason as { readonly retryable?: boolean }).retryable === false
    this.#rejectReady(reason)
    const isAnew = !protocol.isResuming
    if (this.#isEnding || isFinal || resume === undefined || !protocol.lost()) return this.#finish(reason)
    this.#owner.paused(this, true)
    if (!isAnew) return void this.#resume(reason)
    this.#resumesUntil = performance.now() + resume.window
    this.#attempts = 0
    void this.#resume()
  }

  /** @param failure why the attempt before this one has failed; `undefined`: this is the first attempt */
  async #resume(failure?: Error): Promise<void> {
    let last = failure
    for (;;) {
      if (last !== undefined) {
        const pause = backoffDelay(PAUSES, this.#attempts++, Math.random())
        if (performance.now() + pause > this.#resumesUntil) return this.#finish(last)
        await new Promise<void>((resolve) => {
          this.#wake = resolve
          setTimeout(resolve, pause)
        })
        if (this.#isEnding) return
      }
      try {
        const [socket, credentials] = await this.#dial()
        if (this.#isEnding) return socket.close()
        // Only servers of this library read credentials before they resume.
        return this.#use(socket, socket.protocol === TURNS ? credentials : undefined)
      } catch (error) {
        if (this.#isEnding) return
        last = error as Error
      }
    }
  }

  #finish(reason: Error): void {
    if (this.#isOver) return
    this.#isOver = true
    clearTimeout(this.#looking)
    this.#owner.over(this, reason)
    this.#protocol?.close(reason)
    this.#resolveClosed(reason)
  }
}

/** The TCP client: one connection, made when it is first needed and again after it was lost. */
import type { CallOptions, CallReceiver, StreamCall, StreamOptions } from '../call.ts'
import { ConnectionError } from '../errors.ts'
import type { Pattern } from '../pattern.ts'
import { NestRequester } from '../protocol/nest/requester.ts'
import { Session } from '../session.ts'
import type { ClientTransport } from '../transport.ts'
import { DeadlineTimer } from './deadline-timer.ts'
import { clientOptions, type TcpClientOptions } from './options.ts'

/** One connection from its first attempt to its end. */
interface Link {
  readonly requester: NestRequester
  /** Settles when the connection is made, or could not be. */
  readonly connected: Promise<void>
  /** Resolves when it is over, however it ended. */
  readonly closed: Promise<void>
  /** Ends it, made or not. */
  end(): void
}

/** Calls a server over TCP. */
export class TcpClient implements ClientTransport {
  readonly #options: ReturnType<typeof clientOptions>
  #link: Link | undefined
  #closing: Promise<void> | undefined

  /** @throws {ValidationError} an option is not what it must be */
  constructor(options: TcpClientOptions = {}) {
    this.#options = clientOptions(options)
  }

  async connect(): Promise<void> {
    if (this.#closing !== undefined) throw closedError()
    await this.#open().connected
  }

  request(pattern: Pattern, data: unknown, options?: CallOptions): Promise<unknown> {
    if (this.#closing !== undefined) return Promise.reject(closedError())
    return this.#open().requester.request(pattern, data, options)
  }

  stream(pattern: Pattern, data: unknown, receiver: CallReceiver, options?: StreamOptions): StreamCall {
    if (this.#closing === undefined) return this.#open().requester.stream(pattern, data, receiver, options)
    receiver.error(closedError())
    return { cancel() {}, request() {} }
  }

  emit(pattern: Pattern, data: unknown, options?: Pick<CallOptions, 'headers'>): Promise<void> {
    if (this.#closing !== undefined) return Promise.reject(closedError())
    return this.#open().requester.emit(pattern, data, options)
  }

  close(): Promise<void> {
    this.#closing ??= this.#end()
    return this.#closing
  }

  async #end(): Promise<void> {
    const link = this.#link
    if (link === undefined) return
    link.end()
    await link.closed
  }

  #open(): Link {
    this.#link ??= this.#makeLink()
    return this.#link
  }

  #makeLink(): Link {
    const { host, port, sockets, connectTimeout, timeout, maxBufferSize, maxSendBufferSize } = this.#options
    const timer = new DeadlineTimer((now) => requester.expire(now))
    const requester = new NestRequester({
      timeout,
      maxBufferSize,
      maxSendBufferSize,
      now: () => timer.now(),
      wakeAt: (time) => timer.wakeAt(time)
    })
    const attempt = new AbortController()
    let session: Session | undefined
    let over!: () => void
    const closed = new Promise<void>((resolve) => {
      over = resolve
    })
    const finish = (reason?: Error) => {
      if (this.#link?.requester === requester) this.#link = undefined
      timer.stop()
      clearTimeout(connectTimer)
      requester.close(reason)
      over()
    }
    const connectTimer = setTimeout(() => {
      attempt.abort(
        new Error(`no connection to ${host}:${port} within connectTimeout (${connectTimeout} ms)`)
      )
    }, connectTimeout)
    const connected = sockets
      .connect(
        { host, port },
        (socket) => {
          clearTimeout(connectTimer)
          session = new Session(
            socket,
            { ...this.#options, protocol: () => requester, closed: () => finish() },
            requester
          )
          requester.open(session)
          return session
        },
        attempt.signal
      )
      .catch((cause: Error) => {
        finish(cause)
        throw new ConnectionError(`Connection failed: ${cause.message}`, false, cause)
      })
    // Whoever calls learns it from the call; `connect()` awaits the promise itself.
    connected.catch(() => {})
    return {
      requester,
      connected,
      closed,
      end: () => {
        if (session === undefined) return attempt.abort(new Error('the client was closed'))
        session.end()
        requester.close()
      }
    }
  }
}

function closedError(): ConnectionError {
  return new ConnectionError('The client is closed; make a new one with connect()', false)
}

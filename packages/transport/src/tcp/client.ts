/** The TCP client: one connection, made when it is first needed and again after it was lost. */
import type { CallOptions, CallReceiver, StreamCall, StreamOptions } from '../call.ts'
import type { Connection } from '../dispatch.ts'
import { ConnectionError } from '../errors.ts'
import type { Pattern } from '../pattern.ts'
import type { ClientProtocol } from '../protocol/connection.ts'
import { NestRequester } from '../protocol/nest/requester.ts'
import { RSocketClientConnection } from '../protocol/rsocket/client-connection.ts'
import { Session } from '../session.ts'
import type { Socket } from '../socket/socket.ts'
import type { ClientTransport } from '../transport.ts'
import { DeadlineTimer } from './deadline-timer.ts'
import { CLIENT_DEFAULTS, clientOptions, type TcpClientOptions } from './options.ts'

/** One connection from its first attempt to its end. */
interface Link {
  readonly protocol: ClientProtocol
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
    return this.#open().protocol.caller.request(pattern, data, options)
  }

  stream(pattern: Pattern, data: unknown, receiver: CallReceiver, options?: StreamOptions): StreamCall {
    if (this.#closing === undefined)
      return this.#open().protocol.caller.stream(pattern, data, receiver, options)
    receiver.error(closedError())
    return { cancel() {}, request() {} }
  }

  emit(pattern: Pattern, data: unknown, options?: Pick<CallOptions, 'headers'>): Promise<void> {
    if (this.#closing !== undefined) return Promise.reject(closedError())
    return this.#open().protocol.caller.emit(pattern, data, options)
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
    const { host, port, sockets, connectTimeout } = this.#options
    const attempt = new AbortController()
    const protocol = this.#protocol(() => goingAway())
    let session: Session | undefined
    let over!: () => void
    const closed = new Promise<void>((resolve) => {
      over = resolve
    })
    const forget = () => {
      if (this.#link?.protocol === protocol) this.#link = undefined
    }
    const goingAway = () => {
      // Calls in flight end on this connection, the next one makes another.
      forget()
      void session?.drained()
    }
    const finish = (reason?: Error) => {
      forget()
      clearTimeout(connectTimer)
      protocol.close(reason)
      over()
    }
    const connectTimer = setTimeout(() => {
      attempt.abort(
        new Error(`no connection to ${host}:${port} within connectTimeout (${connectTimeout} ms)`)
      )
    }, connectTimeout)
    const accept = (socket: Socket) => {
      clearTimeout(connectTimer)
      session = new Session(
        socket,
        { ...this.#options, protocol: () => protocol, closed: () => finish() },
        protocol
      )
      protocol.open(session)
      return session
    }
    const connected = sockets.connect({ host, port }, accept, attempt.signal).catch((cause: Error) => {
      finish(cause)
      throw new ConnectionError(`Connection failed: ${cause.message}`, false, cause)
    })
    // Whoever calls learns it from the call; `connect()` awaits the promise itself.
    connected.catch(() => {})
    return {
      protocol,
      connected,
      closed,
      end: () => {
        if (session === undefined) return attempt.abort(new Error('the client was closed'))
        session.end()
        protocol.close()
      }
    }
  }

  #protocol(goingAway: () => void): ClientProtocol {
    const options = this.#options
    const timer = new DeadlineTimer((now) => protocol.wake(now))
    const protocol: ClientProtocol =
      options.protocol === 'nest'
        ? new NestRequester({ ...options, timer })
        : new RSocketClientConnection({
            ...options,
            timer,
            goingAway,
            dataMimeType: options.codec,
            dispatcher: options.dispatcher,
            credentials: options.credentials,
            tellTimeout: options.timeout !== CLIENT_DEFAULTS.timeout,
            connection: NO_CONNECTION
          })
    return protocol
  }
}

/** What handlers on the client's side see of their connection. */
const NO_CONNECTION: Connection = {
  remoteAddress: undefined,
  remotePort: undefined,
  onClose: () => () => {}
}

function closedError(): ConnectionError {
  return new ConnectionError('The client is closed; make a new one with connect()', false)
}

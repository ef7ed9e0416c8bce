/** The TCP client: one connection, made when it is first needed and again after it was lost. */
import type { CallOptions, CallReceiver, StreamCall, StreamOptions } from '../call.ts'
import type { Connection } from '../dispatch.ts'
import { ConnectionError, ValidationError } from '../errors.ts'
import type { Pattern } from '../pattern.ts'
import type { ClientProtocol, Timer } from '../protocol/connection.ts'
import { NestRequester } from '../protocol/nest/requester.ts'
import { RSocketClientConnection } from '../protocol/rsocket/client-connection.ts'
import type { ClientTransport } from '../transport.ts'
import { Link } from './link.ts'
import { CLIENT_DEFAULTS, clientOptions, type TcpClientOptions } from './options.ts'

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

  /**
   * RSocket: sends metadata about the connection, which nobody answers.
   * @throws {PayloadTooLargeError} it is longer than a frame
   * @throws {ValidationError} the client speaks Nest's wire, which has no such thing
   */
  pushMetadata(metadata: Uint8Array): void {
    if (this.#closing !== undefined) throw closedError()
    const { caller } = this.#open().protocol
    if (caller.pushMetadata === undefined)
      throw new ValidationError('options.protocol', "'rsocket', to push metadata", this.#options.protocol)
    caller.pushMetadata(metadata)
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
    const link: Link = new Link(
      this.#options,
      (timer) =>
        this.#protocol(timer, () => {
          // Calls in flight end on this connection, the next one makes another.
          this.#forget(link)
          link.drain()
        }),
      () => this.#forget(link)
    )
    return link
  }

  #forget(link: Link): void {
    if (this.#link === link) this.#link = undefined
  }

  #protocol(timer: Timer, goingAway: () => void): ClientProtocol {
    const options = this.#options
    return options.protocol === 'nest'
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

/** The TCP client: connections to one endpoint or several, made when they are first needed, and again when lost. */
import type { CallOptions, CallReceiver, StreamCall, StreamOptions } from '../call.ts'
import type { ClientListener, ClientStatus } from '../client-event.ts'
import type { Connection } from '../dispatch.ts'
import { ValidationError } from '../errors.ts'
import type { Pattern } from '../pattern.ts'
import type { ClientProtocol, Timer } from '../protocol/connection.ts'
import { NestRequester } from '../protocol/nest/requester.ts'
import { PendingRequest, PendingStream, type Recover } from '../protocol/pending-call.ts'
import { RSocketClientConnection } from '../protocol/rsocket/client-connection.ts'
import type { ClientTransport } from '../transport.ts'
import { inheritedOptions } from './inherited-options.ts'
import { Notices } from './notices.ts'
import { CLIENT_DEFAULTS, clientOptions, type TcpClientOptions } from './options.ts'
import { Pool } from './pool.ts'
import { resilienceOptions } from './resilience-options.ts'

/** Calls servers over TCP. */
export class TcpClient implements ClientTransport {
  readonly #options: ReturnType<typeof clientOptions>
  readonly #notices: Notices
  readonly #pool: Pool

  /** @throws {ValidationError} an option is not what it must be */
  constructor(options: TcpClientOptions = {}) {
    this.#options = clientOptions(options)
    this.#notices = new Notices(this.#options.logger)
    if (options.onEvent !== undefined) this.#notices.listen(options.onEvent)
    this.#pool = new Pool(
      this.#options,
      resilienceOptions(options),
      this.#notices,
      (timer, goingAway, recover) => this.#protocol(timer, goingAway, recover)
    )
  }

  get status(): ClientStatus {
    return this.#notices.status
  }

  onEvent(listener: ClientListener): () => void {
    return this.#notices.listen(listener)
  }

  connect(): Promise<void> {
    return this.#pool.connect()
  }

  request(pattern: Pattern, data: unknown, options?: CallOptions): Promise<unknown> {
    const { direct } = this.#pool
    // One endpoint, connected: the call goes straight to its connection.
    if (direct !== undefined && options?.within === undefined) {
      return direct.protocol.caller.request(pattern, data, options)
    }
    return new Promise((resolve, reject) => {
      const all = this.#inherited(pattern, options)
      this.#pool.call(new PendingRequest(pattern, 'request', data, all, resolve, reject))
    })
  }

  stream(pattern: Pattern, data: unknown, receiver: CallReceiver, options?: StreamOptions): StreamCall {
    const { direct } = this.#pool
    if (direct !== undefined && options?.within === undefined) {
      return direct.protocol.caller.stream(pattern, data, receiver, options)
    }
    try {
      const all = this.#inherited(pattern, options)
      const call = new PendingStream(pattern, data, receiver, all, options?.demand)
      this.#pool.call(call)
      return call.handle()
    } catch (error) {
      receiver.error(error as Error)
      return { cancel() {}, request() {} }
    }
  }

  emit(pattern: Pattern, data: unknown, options?: Pick<CallOptions, 'headers' | 'stickyKey'>): Promise<void> {
    const { direct } = this.#pool
    if (direct !== undefined) return direct.protocol.caller.emit(pattern, data, options)
    return new Promise((resolve, reject) => {
      this.#pool.call(new PendingRequest(pattern, 'event', data, options, () => resolve(), reject))
    })
  }

  /**
   * RSocket: sends metadata about the connection, which nobody answers. With several endpoints: about the
   * first connection there is.
   * @throws {PayloadTooLargeError} it is longer than a frame
   * @throws {ConnectionError} there is no connection
   * @throws {ValidationError} the client speaks Nest's wire, which has no such thing
   */
  pushMetadata(metadata: Uint8Array): void {
    const { caller } = this.#pool.anyLink().protocol
    if (caller.pushMetadata === undefined)
      throw new ValidationError('options.protocol', "'rsocket', to push metadata", this.#options.protocol)
    caller.pushMetadata(metadata)
  }

  close(): Promise<void> {
    return this.#pool.close()
  }

  #inherited<Options extends CallOptions>(
    pattern: Pattern,
    options: Options | undefined
  ): Options | undefined {
    return options?.within === undefined ? options : inheritedOptions(pattern, options, this.#options.timeout)
  }

  #protocol(timer: Timer, goingAway: () => void, recover: Recover): ClientProtocol {
    const options = this.#options
    return options.protocol === 'nest'
      ? new NestRequester({ ...options, timer, recover })
      : new RSocketClientConnection({
          ...options,
          timer,
          goingAway,
          recover,
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

/** A `ClientProxy` for Nest that uses clients of this library for `send()` and `emit()`. */
import { inspect } from 'node:util'
import {
  type CallReceiver,
  type ClientTransport,
  ConnectionError,
  type ConnectionEvent,
  loggerOf,
  type MessageHeaders
} from '@elysia-microservices/transport/kit'
import { Logger } from '@nestjs/common'
import { ClientProxy, type ReadPacket, type WritePacket } from '@nestjs/microservices'
import { merge, Observable, Subject } from 'rxjs'
import { connectErrorOf, nestErrorOf } from './client-error.ts'
import { Listeners } from './listeners.ts'
import { nestLogger } from './nest-logger.ts'
import {
  type CheckedClientOptions,
  clientOptions,
  type MicroserviceClientEvents,
  type MicroserviceClientOptions,
  type MicroserviceStatus,
  warnOfUnknown
} from './options.ts'

/** The client transport from its first connection to `close()`, and the callbacks registered for it. */
interface Opened {
  readonly transport: ClientTransport
  readonly listeners: Listeners<MicroserviceClientEvents>
  /** Number of open connections. */
  connected: number
  /** The attempt to connect for which calls wait. */
  connecting: Promise<unknown> | undefined
}

/** The data and the options of a packet of Nest. */
interface Message {
  readonly data: unknown
  readonly options: { readonly headers: MessageHeaders } | undefined
}

/**
 * Calls services over the transports of this library. Default: TCP with RSocket, or with Nest's wire if `protocol` is
 * `'nest'`. Pass the class as `customClass` to `ClientsModule` or `ClientProxyFactory`.
 * @example
 * ```ts
 * import { MicroserviceClient } from '@elysia-microservices/nestjs'
 * import { ClientsModule } from '@nestjs/microservices'
 *
 * ClientsModule.register([{ name: 'MATH', customClass: MicroserviceClient, options: { port: 4000 } }])
 * ```
 */
export class MicroserviceClient extends ClientProxy<MicroserviceClientEvents> {
  protected readonly logger = new Logger(MicroserviceClient.name)
  readonly #log = nestLogger(this.logger)
  readonly #options: CheckedClientOptions
  #opened: Opened | undefined

  /** @throws {OptionError} an option is invalid, or is an option of Nest that has no effect here */
  constructor(options: MicroserviceClientOptions = {}) {
    super()
    this.#options = clientOptions(options)
    warnOfUnknown(this.#options.unknown, this.#options.logger ?? this.#log)
    this.#open()
  }

  /**
   * The status and its changes. A new subscriber gets the last status at once, but nothing before the first connection.
   */
  override get status(): Observable<MicroserviceStatus> {
    // The cast is needed, because TypeScript would not accept a subclass of `ClientProxy<…, MicroserviceStatus>` as a
    // `ClientProxy`.
    return super.status as Observable<MicroserviceStatus>
  }

  /**
   * Connects now. Without this call, the first `send()` or `emit()` connects. Rejects with the system's error, whose
   * `code` is for example `ECONNREFUSED`, or with a `ConnectionError`. As in Nest, it resolves if `close()` is called
   * meanwhile. While the client reconnects by itself, it resolves at once, and calls wait for the connection.
   */
  async connect(): Promise<void> {
    const opened = this.#open()
    // Nest awaits this method before each call.
    if (opened.transport.status === 'reconnecting') return
    try {
      await opened.transport.connect()
    } catch (error) {
      if (this.#opened === opened) throw connectErrorOf(error)
    }
  }

  /**
   * Closes the client: pending requests fail before the method returns. Resolves when all connections are closed; the
   * next call connects again.
   */
  async close(): Promise<void> {
    const opened = this.#opened
    this.#opened = undefined
    if (opened === undefined) return
    await opened.transport.close()
    if (opened.connected === 0) return
    opened.connected = 0
    if (!this.#isConnected) this._status$.next('disconnected')
    opened.listeners.emit('close')
  }

  /**
   * Registers a callback, for all connections until `close()`.
   * @throws {OptionError} the event is unknown
   */
  override on<
    EventKey extends keyof MicroserviceClientEvents = keyof MicroserviceClientEvents,
    EventCallback extends MicroserviceClientEvents[EventKey] = MicroserviceClientEvents[EventKey]
  >(event: EventKey, callback: EventCallback): void {
    this.#open().listeners.add(event, callback)
  }

  /**
   * Returns the client of the transport.
   * @throws {Error} the client is not connected
   */
  unwrap<T = ClientTransport>(): T {
    if (this.#opened === undefined || !this.#isConnected)
      throw new Error('Not initialized. Please call the "connect" method first.')
    return this.#opened.transport as T
  }

  get #isConnected(): boolean {
    return this.#opened !== undefined && this.#opened.connected > 0
  }

  /** Makes a cold Observable, as in Nest: each subscription makes a call, and unsubscribing cancels it. */
  override send<TResult = unknown, TInput = unknown>(pattern: unknown, data: TInput): Observable<TResult> {
    if (isNil(pattern) || isNil(data)) return super.send(pattern, data)
    return new Observable((subscriber) => {
      const send = () => {
        if (subscriber.closed) return
        try {
          subscriber.add(this.publish(this.createPacket(pattern, data), this.createObserver(subscriber)))
        } catch (error) {
          subscriber.error(error)
        }
      }
      this.#connected(send, (error) => subscriber.error(error))
    })
  }

  /** Sends an event once, as in Nest, with or without a subscriber. A failure without a subscriber is logged. */
  override emit<TResult = unknown, TInput = unknown>(pattern: unknown, data: TInput): Observable<TResult> {
    const outcome = new Subject<TResult>()
    let observed = false
    const failed = (error: unknown) => {
      outcome.error(error)
      // Only after this turn it is known whether the caller has subscribed.
      queueMicrotask(() => {
        if (!observed) this.#log.error(`The event ${inspect(pattern)} was not sent`, error)
      })
    }
    const sent = (result: TResult) => {
      outcome.next(result)
      outcome.complete()
    }
    const send = () => {
      try {
        this.dispatchEvent<TResult>(this.createPacket(pattern, data)).then(sent, failed)
      } catch (error) {
        failed(error)
      }
    }
    if (isNil(pattern) || isNil(data)) super.emit(pattern, data).subscribe({ error: failed })
    else this.#connected(send, failed)
    return new Observable((subscriber) => {
      observed = true
      return outcome.subscribe(subscriber)
    })
  }

  /**
   * Calls `act` when the client is connected, and connects if it is not. `act` is never called at once: as in Nest, a
   * caller who unsubscribes in the same turn sends nothing. Each call has a promise of its own, because a hook or a
   * subclass may read the caller's `AsyncLocalStorage`.
   */
  #connected(act: () => void, failed: (error: unknown) => void): void {
    const opened = this.#open()
    const { status } = opened.transport
    if (opened.connecting !== undefined) opened.connecting.then(act, failed)
    else if ((status === 'connected' || status === 'reconnecting') && this.connect === CONNECT)
      CONNECTED.then(act)
    else this.#connectFirst(opened).then(act, failed)
  }

  /** Connects. The calls that are made meanwhile wait for the same attempt, so none overtakes another. */
  #connectFirst(opened: Opened): Promise<unknown> {
    const connecting: Promise<unknown> = (async () => this.connect())()
    const ended = () => {
      opened.connecting = undefined
    }
    // The first to be told is this object: calls made by others who are told may go straight to the transport.
    connecting.then(ended, ended)
    opened.connecting = connecting
    return connecting
  }

  /**
   * Does nothing: answers arrive without it. It exists for applications that were written for Nest's `ClientKafka`,
   * which call it in `onModuleInit`.
   */
  subscribeToResponseOf(_pattern: unknown): void {}

  /** Sends several events, as Nest's `ClientKafka` does, with or without a subscriber. */
  emitBatch<TResult = unknown, TInput = unknown>(
    pattern: unknown,
    { messages }: { readonly messages: readonly TInput[] }
  ): Observable<TResult> {
    return merge(...messages.map((message) => this.emit<TResult, TInput>(pattern, message)))
  }

  /** Called by Nest for `send()`. The returned function cancels the call. */
  protected publish(packet: ReadPacket, callback: (packet: WritePacket) => void): () => void {
    const { pattern } = packet
    const transport = this.#opened?.transport
    if (transport === undefined) {
      callback({ err: closedError() })
      return () => {}
    }
    const { data, options } = this.#messageOf(packet)
    const call = transport.stream(pattern, data, new Receiver(callback), options)
    return () => call.cancel()
  }

  /** Called by Nest for `emit()`. */
  protected async dispatchEvent<T>(packet: ReadPacket): Promise<T> {
    const transport = this.#opened?.transport
    if (transport === undefined) throw closedError()
    const { data, options } = this.#messageOf(packet)
    await transport.emit(packet.pattern, data, options)
    return undefined as T
  }

  /** The data and the options of a call. Over some engines the data of Nest's users are a whole message. */
  #messageOf({ data, metadata }: ReadPacket): Message {
    const { transport, headers: own } = this.#options
    const whole = transport.nestMessageOf?.(data)
    if (whole === undefined && own === undefined && metadata === undefined)
      return { data, options: undefined }
    const sources = [own, whole?.headers, metadata].filter((one) => one !== undefined)
    const headers = sources.length > 1 ? Object.assign({}, ...sources) : sources[0]
    return { data: whole === undefined ? data : whole.data, options: headers && { headers } }
  }

  #open(): Opened {
    this.#opened ??= this.#newTransport()
    return this.#opened
  }

  #newTransport(): Opened {
    const failed = (error: unknown) => this.logger.error(error)
    const listeners = new Listeners<MicroserviceClientEvents>(['connect', 'close', 'error'], failed)
    const { transport, timeout, logger = this.#log } = this.#options
    const client = transport.client({ logger: loggerOf(logger), timeout, dispatcher: undefined })
    const opened: Opened = { transport: client, listeners, connected: 0, connecting: undefined }
    client.onStatus((event) => this.#tell(event, opened))
    return opened
  }

  #tell(event: ConnectionEvent, opened: Opened): void {
    const { listeners } = opened
    if (event.type === 'connected') {
      opened.connected++
      this._status$.next('connected')
      listeners.emit('connect')
    } else if (event.type === 'disconnected') {
      opened.connected--
      if (!this.#isConnected) this._status$.next('disconnected')
      if (event.error !== undefined) listeners.emit('error', event.error)
      listeners.emit('close')
    } else if (event.type === 'connect-failed') {
      if (!this.#isConnected) this._status$.next('disconnected')
      if (event.error !== undefined) listeners.emit('error', event.error)
    }
  }
}

/** Passes the answer to a call on to Nest. */
class Receiver implements CallReceiver {
  readonly #callback: (packet: WritePacket) => void

  constructor(callback: (packet: WritePacket) => void) {
    this.#callback = callback
  }

  next(response: unknown): void {
    this.#callback({ response })
  }

  complete(): void {
    this.#callback({ isDisposed: true })
  }

  error(error: Error): void {
    this.#callback({ err: nestErrorOf(error) })
  }
}

/** Connects before a call, unless a subclass or a test has its own. */
const CONNECT = MicroserviceClient.prototype.connect
const CONNECTED = Promise.resolve()

function isNil(value: unknown): value is null | undefined {
  return value === null || value === undefined
}

/** The error of a call that was not sent because `close()` was called first. */
function closedError(): ConnectionError {
  return new ConnectionError('Connection closed', false)
}

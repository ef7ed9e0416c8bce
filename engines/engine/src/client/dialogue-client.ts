/** The asking side of an engine: one connection, and one inbox at which the answers to all calls arrive. */
import {
  type CallSender,
  type ClientContext,
  type ClientStatus,
  type ClientTransport,
  ConnectionError,
  type ConnectionListener,
  DEFAULT_RETRY,
  forOneMore,
  Notices,
  OpenCalls,
  OptionError,
  type PendingCall,
  PendingCaller,
  quietLog,
  RetryPolicy,
  refuseCall,
  StreamTable
} from '@elysia-microservices/transport/kit'
import type { Carrier, CarrierListener, Engine } from '../carrier.ts'
import type { ClientStore, ClientStoreInit } from '../durable/client-store.ts'
import { opened } from '../opened.ts'
import { haltedBy } from '../unreachable.ts'
import { CallWriter, type OutgoingCall } from './outgoing-call.ts'
import { Requester } from './requester.ts'
import type { Now } from './requests-of-turn.ts'

/** The parameters of a client. */
export interface DialogueClientInit<Connection extends Carrier> {
  readonly engine: Engine<Connection>
  readonly context: ClientContext
  /** Publishes stored events. Default: the engine stores none. */
  readonly store?: ((init: ClientStoreInit<Connection>) => ClientStore<Connection>) | undefined
  /** Tells the time by which it is measured how soon requests are answered. Default: the system's clock. */
  readonly now?: Now | undefined
}

/** One connection of a client, and the requester that uses it. */
interface Connected<Connection> {
  readonly connection: Connection
  readonly requester: Requester
  /** Set when the driver has given up the connection. */
  ended?: ConnectionError
}

/** Calls over an engine. */
export class DialogueClient<Connection extends Carrier>
  extends PendingCaller
  implements ClientTransport, CallSender
{
  readonly name: string
  readonly durable: ClientStore<Connection> | undefined
  readonly #engine: Engine<Connection>
  readonly #context: ClientContext
  readonly #now: Now | undefined
  readonly #notices: Notices
  readonly #writer: CallWriter
  readonly #table = new StreamTable<PendingCall>()
  readonly #calls: OpenCalls
  /** Calls that wait for a connection, each with the message to send. */
  readonly #written = new Map<PendingCall, OutgoingCall>()
  /** Why the server takes no messages at the moment; `undefined`: it takes messages. */
  #halted: string | undefined
  #connected: Connected<Connection> | undefined
  #connecting: Promise<void> | undefined
  /** Aborts when the client is closed. */
  readonly #closing = new AbortController()

  constructor({ engine, context, store, now }: DialogueClientInit<Connection>) {
    super((call) => this.#calls.start(call), context.timeout)
    this.name = engine.name
    this.#engine = engine
    this.#context = context
    this.#now = now
    this.#notices = new Notices(context.logger, 'disconnected', true)
    this.#writer = new CallWriter(engine)
    this.durable = store?.({
      engine,
      context,
      connect: () => this.#connection(),
      halted: () => this.#halted
    })
    this.#calls = new OpenCalls({
      sender: this,
      timeout: context.timeout,
      waitForConnection: context.waitForConnection,
      table: this.#table,
      notices: this.#notices,
      retries: new RetryPolicy(DEFAULT_RETRY, performance.now()),
      endpoint: () => this.#connected?.requester.server ?? engine.where,
      // Without a connection a call is not retried but fails at once; the next call tries to connect.
      recover: (call, error) => this.#connected !== undefined && this.#calls.retry(call, error),
      unreached: (call) =>
        call.unconnected(context.waitForConnection, undefined, ` to ${engine.title} at ${engine.where}`),
      halted: () => this.#halted
    })
  }

  get status(): ClientStatus {
    return this.#notices.status
  }

  get inFlight(): number {
    return this.#calls.inFlight
  }

  refuse(): void {
    this.start = refuseCall
  }

  onStatus(listener: ConnectionListener): () => void {
    return this.#notices.listen(listener)
  }

  connect(): Promise<void> {
    if (this.#calls.isClosed) return Promise.reject(ConnectionError.closed())
    if (this.#connected !== undefined) return Promise.resolve()
    this.#connecting ??= this.#open().finally(() => {
      this.#connecting = undefined
    })
    return this.#connecting
  }

  async #connection(): Promise<Connection> {
    await this.connect()
    if (this.#connected === undefined) throw ConnectionError.closed()
    return this.#connected.connection
  }

  async close(): Promise<void> {
    if (this.#calls.isClosed) return
    this.#closing.abort(ConnectionError.closed())
    this.durable?.close(ConnectionError.closed(true), ConnectionError.closed())
    const end = () => {
      this.#calls.close((mayHaveRun) => ConnectionError.closed(mayHaveRun), true)
      this.#notices.status = 'closed'
    }
    if (this.#connected === undefined) end()
    else await this.#connected.requester.close(end)
    await this.#connecting?.catch(() => {})
  }

  // ── sending calls ────────────────────────────────────────────────────────────────────────────────────

  send(call: PendingCall): void {
    const outgoing = this.#written.get(call) ?? this.#writer.write(call)
    const { requester } = this.#connected ?? {}
    if (requester?.isConnected === true) {
      this.#written.delete(call)
      return requester.send(call, outgoing)
    }
    this.#calls.wait(call, undefined, this.#connected === undefined)
    this.#written.set(call, outgoing)
    // If the connection cannot be made, each call that waits fails with the reason.
    if (this.#connected === undefined) this.connect().catch(() => {})
  }

  cancel(call: PendingCall): void {
    this.#connected?.requester.cancel(call)
  }

  demand(call: PendingCall, n: number): void {
    this.#connected?.requester.demand(call, n)
  }

  over(call: PendingCall): void {
    if (this.#written.size > 0) this.#written.delete(call)
    this.#connected?.requester.over(call)
  }

  // ── the connection ───────────────────────────────────────────────────────────────────────────────────

  async #open(): Promise<void> {
    const engine = this.#engine
    this.#notices.status = 'connecting'
    let connected: Connected<Connection>
    try {
      const connection: Connection = await opened(
        engine,
        this.#listener(() => connected)
      )
      const requester = new Requester(engine, connection, this.#context, this.#calls, this.#table, this.#now)
      connected = { connection, requester }
      await requester.listen()
      if (connected.ended !== undefined) throw connected.ended
    } catch (error) {
      if (!this.#calls.isClosed) this.#notices.status = 'disconnected'
      this.#notices.tell({ type: 'connect-failed', endpoint: engine.where, error: error as Error })
      this.#calls.failWaiting(() => forOneMore(error as Error))
      throw error
    }
    if (this.#calls.isClosed) {
      await connected.requester.close()
      throw ConnectionError.closed()
    }
    this.#connected = connected
    this.durable?.attach(connected.connection)
    this.#ready(connected)
  }

  #ready({ requester }: Connected<Connection>): void {
    this.#notices.status = 'connected'
    this.#notices.tell({ type: 'connected', endpoint: requester.server })
    this.#calls.release(() => requester.isConnected)
  }

  /** @param ours returns the connection whose events the listener gets, once it is made */
  #listener(ours: () => Connected<Connection> | undefined): CarrierListener {
    const { title } = this.#engine
    const isCurrent = () => ours() !== undefined && this.#connected === ours() && !this.#calls.isClosed
    return {
      signal: this.#closing.signal,
      lost: (why) => {
        if (!isCurrent()) return
        if (why !== undefined)
          quietLog(this.#context.logger).warn('lost', `The connection to ${title} was lost: ${why}`)
        const endpoint = (this.#connected as Connected<Connection>).requester.server
        this.#halted = undefined
        this.#notices.status = 'reconnecting'
        const message = `The connection to ${title} at ${endpoint} was lost before the answer came`
        this.#notices.tell({ type: 'disconnected', endpoint, error: new ConnectionError(message, true) })
        this.#calls.lost((mayHaveRun) => new ConnectionError(message, mayHaveRun))
      },
      halted: (reason) => {
        if (!isCurrent()) return
        this.#halted = reason && haltedBy(title, reason)
        this.#context.logger.warn(
          this.#halted === undefined
            ? `${title} takes messages again`
            : `${this.#halted}; calls and events wait`
        )
      },
      restored: () => {
        if (!isCurrent()) return
        const connected = this.#connected as Connected<Connection>
        connected.requester.restored()
        this.durable?.restored()
        this.#ready(connected)
      },
      refused: (address, operation, cause) => {
        const connected = ours()
        if (operation !== 'publish' || connected === undefined) return
        const message = `${title} does not let this client publish to '${address}'; give its user the permission`
        const error = new ConnectionError(message, false, cause, false)
        connected.requester.refused(address, error)
        this.durable?.forbidden?.(address, error)
      },
      unpublished: (_address, cause) => {
        throw new OptionError('options.headers', `The message cannot be published: ${cause.message}`, cause)
      },
      failed: (error) =>
        quietLog(this.#context.logger).error('failed', `A message of ${title} could not be handled`, error),
      // The driver has given up the connection; the next call makes a new one.
      ended: (cause) => {
        const over = (mayHaveRun: boolean) =>
          new ConnectionError(`The connection to ${title} has ended`, mayHaveRun, cause)
        const connected = ours()
        if (connected !== undefined) {
          connected.ended = over(false)
          // Otherwise incomplete messages and timers of the connection would stay for ever.
          void connected.requester.close().catch(() => {})
        }
        if (!isCurrent()) return
        this.#connected = undefined
        this.durable?.detach()
        this.#notices.status = 'disconnected'
        this.#calls.lost(over)
        this.#calls.failWaiting(over)
      }
    }
  }
}

/** The calling side: one connection, and one inbox on which the answers to all calls come. */
import {
  type CallHolder,
  type ClientContext,
  type ClientListener,
  type ClientStatus,
  type ClientTransport,
  ConnectionError,
  DeadlineTimer,
  forOneMore,
  Notices,
  noteCall,
  OverloadedError,
  type PendingCall,
  PendingCaller,
  StreamTable,
  unsendable
} from '@elysia-microservices/transport/kit'
import { ClientLink } from './client-link.ts'
import { NatsDurable } from './durable/client.ts'
import type { Link } from './link.ts'
import type { CheckedOptions } from './options.ts'
import { type OutgoingCall, outgoingCall } from './outgoing-call.ts'

/** Calls that may wait for a connection. */
const MAX_WAITING = 65_536

/** Calls over NATS. */
export class NatsClient extends PendingCaller implements ClientTransport, CallHolder {
  readonly name = 'nats'
  readonly durable: NatsDurable
  readonly #options: CheckedOptions
  readonly #context: ClientContext
  readonly #notices: Notices
  readonly #timer = new DeadlineTimer({ wake: (now) => this.#expire(now) })
  readonly #calls = new StreamTable<PendingCall>()
  /** Calls that wait for a connection, with what is to be sent. */
  readonly #waiting = new Map<PendingCall, OutgoingCall>()
  #link: ClientLink | undefined
  #connecting: Promise<void> | undefined
  #isClosed = false

  constructor(options: CheckedOptions, context: ClientContext) {
    super((call) => this.#start(call), context.timeout)
    this.#options = options
    this.#context = context
    this.#notices = new Notices(context.logger)
    this.durable = new NatsDurable(options, context, () => this.#connectedLink())
  }

  get status(): ClientStatus {
    return this.#notices.status
  }

  onEvent(listener: ClientListener): () => void {
    return this.#notices.listen(listener)
  }

  connect(): Promise<void> {
    if (this.#isClosed) return Promise.reject(ConnectionError.closed())
    if (this.#link !== undefined) return Promise.resolve()
    this.#connecting ??= this.#open().finally(() => {
      this.#connecting = undefined
    })
    return this.#connecting
  }

  async #connectedLink(): Promise<Link> {
    await this.connect()
    if (this.#link === undefined) throw ConnectionError.closed()
    return this.#link.link
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    this.durable.publisher.close(ConnectionError.closed(true), ConnectionError.closed())
    this.#timer.stop()
    const link = this.#link
    for (const call of this.#calls.all()) {
      const mayHaveRun = !this.#waiting.has(call) || call.mayHaveRun
      link?.cancel(call)
      this.#fail(call, ConnectionError.closed(mayHaveRun))
    }
    this.#notices.status = 'closed'
    await link?.close()
    await this.#connecting?.catch(() => {})
  }

  // ── what holds a call ────────────────────────────────────────────────────────────────────────────────

  cancel(call: PendingCall): void {
    if (call.isSettled) return
    if (!this.#waiting.has(call)) this.#link?.cancel(call)
    this.#end(call)
  }

  demand(call: PendingCall, n: number): void {
    if (!call.isSettled && !this.#waiting.has(call)) this.#link?.demand(call, n)
  }

  #start(call: PendingCall): void {
    call.holder = this
    call.isSettled = false
    try {
      if (this.#isClosed) throw ConnectionError.closed()
      call.prepare(this.#timer, this.#context.timeout, this.#giveUp)
      this.#calls.add(call)
      const outgoing = outgoingCall(call)
      if (this.#link?.isConnected === true) this.#link.send(call, outgoing)
      else this.#wait(call, outgoing)
    } catch (error) {
      this.#fail(call, unsendable(error))
    }
  }

  /** Sends a call that certainly has not run. */
  #sendAgain(call: PendingCall): void {
    try {
      const outgoing = outgoingCall(call)
      call.isDelayed = true
      if (this.#link?.isConnected === true) this.#link.send(call, outgoing)
      else this.#wait(call, outgoing)
    } catch (error) {
      this.#fail(call, unsendable(error))
    }
  }

  #wait(call: PendingCall, outgoing: OutgoingCall): void {
    if (this.#waiting.size >= MAX_WAITING)
      throw new OverloadedError(`${MAX_WAITING} calls wait for a connection already`)
    call.isDelayed = true
    this.#waiting.set(call, outgoing)
    // Why it fails is told by each call that waits.
    if (this.#link === undefined) this.connect().catch(() => {})
  }

  // ── the connection ───────────────────────────────────────────────────────────────────────────────────

  async #open(): Promise<void> {
    this.#notices.status = 'connecting'
    let link: ClientLink
    try {
      link = await ClientLink.open(
        this.#options,
        this.#context,
        {
          lost: () => this.#lost(link),
          restored: () => this.#restored(link),
          over: (error) => this.#over(link, error),
          again: (call) => this.#sendAgain(call),
          settled: (call, error) => (error === undefined ? this.#complete(call) : this.#fail(call, error)),
          giveUp: this.#giveUp
        },
        this.#calls
      )
    } catch (error) {
      if (!this.#isClosed) this.#notices.status = 'disconnected'
      this.#notices.tell({ type: 'connect-failed', endpoint: this.#where, error: error as Error })
      for (const call of [...this.#waiting.keys()]) this.#fail(call, forOneMore(error as Error))
      throw error
    }
    if (this.#isClosed) {
      await link.close()
      throw ConnectionError.closed()
    }
    this.#link = link
    this.durable.publisher.attach(link.link)
    this.#connected(link)
  }

  get #where(): string {
    return [this.#options.connection.servers ?? `localhost:${this.#options.connection.port ?? 4222}`]
      .flat()
      .join(', ')
  }

  #connected(link: ClientLink): void {
    this.#notices.status = 'connected'
    this.#notices.tell({ type: 'connected', endpoint: link.server })
    const waiting = [...this.#waiting]
    this.#waiting.clear()
    for (const [call, outgoing] of waiting) link.send(call, outgoing)
  }

  /** The server is lost: what is under way fails at once, or is made again if that does no harm. */
  #lost(link: ClientLink): void {
    if (this.#link !== link) return
    this.#notices.status = 'reconnecting'
    const error = new ConnectionError(
      `The connection to NATS at ${link.server} was lost before the answer came`,
      true
    )
    this.#notices.tell({ type: 'disconnected', endpoint: link.server, error })
    this.#failUnderWay(link, error)
  }

  #failUnderWay(link: ClientLink | undefined, error: ConnectionError): void {
    for (const call of this.#calls.all()) {
      if (this.#waiting.has(call)) continue
      link?.forget(call)
      const isRepeatable = call.options?.idempotent === true && !call.isAnswered && call.input === undefined
      if (!isRepeatable) this.#fail(call, forOneMore(error))
      else {
        call.retries++
        call.mayHaveRunBefore = true
        this.#notices.tell({
          type: 'retry',
          pattern: call.name,
          endpoint: undefined,
          attempt: call.retries,
          delay: 0,
          error,
          headers: call.options?.headers
        })
        // With a number of its own: what still answers the first attempt learns that nobody waits for it.
        this.#calls.delete(call)
        this.#calls.add(call)
        this.#sendAgain(call)
      }
    }
  }

  #restored(link: ClientLink): void {
    if (this.#link !== link || this.#isClosed) return
    this.durable.publisher.restored()
    this.#connected(link)
  }

  /** The driver has given the connection up; the next call makes a new one. */
  #over(link: ClientLink, cause: Error | undefined): void {
    if (this.#link !== link || this.#isClosed) return
    this.#link = undefined
    this.durable.publisher.detach()
    this.#notices.status = 'disconnected'
    this.#failUnderWay(undefined, new ConnectionError('The connection to NATS is over', true, cause))
    for (const call of [...this.#waiting.keys()])
      this.#fail(call, new ConnectionError('The connection to NATS is over', call.mayHaveRun, cause))
  }

  // ── the end of a call ────────────────────────────────────────────────────────────────────────────────

  #expire(now: number): void {
    let next = Number.POSITIVE_INFINITY
    for (const call of this.#calls.all()) {
      if (call.deadline > now) next = Math.min(next, call.deadline)
      else this.#giveUp(call, this.#tooLate(call))
    }
    if (next < Number.POSITIVE_INFINITY) this.#timer.wakeAt(next)
  }

  #tooLate(call: PendingCall): Error {
    if (!this.#waiting.has(call)) return call.timedOut(true)
    return new ConnectionError(
      `No connection to NATS at ${this.#where} within ${call.timeout} ms`,
      call.mayHaveRun
    )
  }

  /** Gives a call up, tells the service, and its owner why. */
  readonly #giveUp = (call: PendingCall, error: Error): void => {
    if (call.isSettled) return
    if (!this.#waiting.has(call)) this.#link?.cancel(call)
    this.#fail(call, error)
  }

  #complete(call: PendingCall): void {
    if (this.#end(call)) call.complete()
  }

  #fail(call: PendingCall, error: Error): void {
    const server = this.#link?.server
    if (this.#end(call)) call.fail(noteCall(error, () => ({ endpoint: server })))
  }

  /** The one place where a call ends; false if it has ended before. */
  #end(call: PendingCall): boolean {
    if (call.isSettled) return false
    call.isSettled = true
    this.#calls.delete(call)
    this.#waiting.delete(call)
    this.#link?.forget(call)
    call.release()
    return true
  }
}

/**
 * The connections of a client, one or more for each endpoint. Decides which connection takes a call, lets calls without
 * a connection wait, and retries failed calls.
 */

import {
  type ClientContext,
  ConnectionError,
  forOneMore,
  type Notices,
  OpenCalls,
  OverloadedError,
  type PendingCall,
  quietLog,
  type Recover,
  RejectedError,
  RetryPolicy,
  TimeoutError,
  UnauthenticatedError
} from '@elysia-microservices/transport/kit'
import type { Address } from '../balance/address.ts'
import { Balancer } from '../balance/balancer.ts'
import { cannotConnect } from '../connection/connection-errors.ts'
import type { ClientProtocol } from '../connection/protocol.ts'
import { reasonOf } from '../connection/system-errors.ts'
import { newTimer } from '../connection/timer.ts'
import type { CheckedResilience } from '../options/resilience-options.ts'
import { Endpoint, type EndpointOwner, type Link, type NewLink } from './endpoint.ts'
import { EndpointSet } from './endpoint-set.ts'
import { EndpointSource, type Resolver } from './endpoint-source.ts'

/** The names and callbacks that a pool passes to the protocol of a connection. */
export interface ProtocolParts {
  /** The server's address for messages, such as `tcp://localhost:4000`. */
  readonly where: string
  /** The server's name, for the errors of calls and for events. */
  readonly endpoint: string
  /** Called before a call fails; returns true if the pool has taken the call over. */
  readonly recover: Recover
  /** The server has refused an event that had left this process. */
  eventRefused(pattern: string, error: Error): void
  /** The server goes away: no new calls may be made on this connection. */
  goingAway(): void
  /** Takes a call that was not sent. */
  handOver(call: PendingCall): void
}

/** Makes the protocol of a connection. */
export type NewProtocol = (parts: ProtocolParts) => ClientProtocol

/** The options of a pool. */
export interface PoolOptions {
  readonly resilience: CheckedResilience
  /**
   * The default endpoint, used if `resilience.endpoints` names none. Its port is the default port of other endpoints.
   */
  readonly own: Address
  /** Prefix of addresses in messages, such as `tcp://`. */
  readonly scheme: string
  /** Most milliseconds for making a connection. */
  readonly connectTimeout: number
  readonly resolver: Resolver
  readonly newLink: NewLink
}

/** Holds connections and distributes calls among them. */
export class Pool implements EndpointOwner {
  /** The only connection of a client with one connection, whose calls need no choice. */
  #direct: Link | undefined
  readonly #resilience: CheckedResilience
  readonly #scheme: string
  readonly #notices: Notices
  readonly #newProtocol: NewProtocol
  readonly #source: EndpointSource
  readonly #balancer: Balancer<Endpoint>
  /** Calls without a connection: they wait for a connection, or for the end of the pause before a retry. */
  readonly #calls: OpenCalls
  readonly #endpoints: EndpointSet
  #everConnected = false
  /** The endpoint that could not be reached, and the reason. */
  #unreached: { readonly endpoint: string; readonly reason: Error | undefined } | undefined
  /** The error of servers that have refused the credentials. All calls fail with it until a connection is made. */
  #refusal: UnauthenticatedError | undefined
  /** The endpoints of best priority are tried for the first time, so calls wait. */
  #starting = true
  #connecting: Promise<void> | undefined
  #closing: Promise<void> | undefined

  /** @throws {OptionError} an endpoint is not `host:port` */
  constructor(
    options: PoolOptions,
    { logger, timeout, waitForConnection }: ClientContext,
    notices: Notices,
    newProtocol: NewProtocol
  ) {
    const { resilience, connectTimeout, newLink } = options
    const { reconnect } = resilience
    this.#resilience = resilience
    this.#scheme = options.scheme
    this.#notices = notices
    this.#newProtocol = newProtocol
    const exhausted = () =>
      quietLog(logger).warn(
        'retry-budget',
        'A call fails and is not retried: options.retry.budget is used up'
      )
    const { retry } = resilience
    this.#calls = new OpenCalls({
      // `cancel` does nothing, because no server knows a call that waits here.
      sender: { send: (call) => this.#send(call), cancel() {} },
      timer: newTimer,
      retries: retry && new RetryPolicy(retry, performance.now(), Math.random, exhausted),
      recover: (call, error) => this.#recover(undefined, call, error),
      unreached: (call) => call.unconnected(waitForConnection, this.#unreached?.reason),
      endpoint: () => this.#unreached?.endpoint,
      ...{ timeout, waitForConnection, notices }
    })
    this.#balancer = new Balancer({
      health: resilience.eject,
      random: Math.random,
      ejected: ({ name }, delay) => notices.tell({ type: 'ejected', endpoint: name, delay }),
      restored: ({ name }) => notices.tell({ type: 'restored', endpoint: name })
    })
    this.#endpoints = new EndpointSet(
      resilience.connections,
      (name, address, slot) => new Endpoint(name, slot, { address, newLink, connectTimeout, reconnect }, this)
    )
    this.#source = new EndpointSource(
      resilience,
      options.own,
      (addresses) => this.#use(addresses),
      (error) => notices.tell({ type: 'resolve-failed', error }),
      options.resolver
    )
    if (this.#source.fixed !== undefined) this.#use(this.#source.fixed, true)
  }

  /**
   * Connects to all endpoints; resolves when the first connection is made. Rejects with a `ConnectionError` if no
   * endpoint can be reached.
   */
  connect(): Promise<void> {
    if (this.#calls.isClosed) return Promise.reject(ConnectionError.closed())
    this.#connecting ??= this.#connectNow().finally(() => {
      this.#connecting = undefined
    })
    return this.#connecting
  }

  async #connectNow(): Promise<void> {
    if (this.#source.fixed === undefined) await this.#source.start()
    if (this.#endpoints.usable) return
    const attempts = this.#endpoints.current.map((endpoint) => this.#connect(endpoint))
    this.#update()
    if (attempts.length === 0)
      throw new ConnectionError(
        'There is no endpoint to connect to: options.url returned an empty list',
        false
      )
    await Promise.any(attempts).catch(({ errors }: AggregateError) => {
      throw errors[0]
    })
  }

  #connect(endpoint: Endpoint): Promise<void> {
    endpoint.connect(endpoint !== this.#sole)
    return endpoint.ready
  }

  /**
   * Makes a call at once, or as soon as there is a connection for it. A field, so that it can be passed on without a
   * closure.
   */
  readonly call = (call: PendingCall): void => {
    if (this.#direct !== undefined) return this.#direct.protocol.calls.start(call)
    const link = this.#calls.isClosed ? undefined : this.#linkFor(call)
    ;(link?.protocol.calls ?? this.#calls).start(call)
  }

  #send(call: PendingCall): void {
    const link = this.#direct ?? this.#linkFor(call)
    if (link !== undefined) return link.protocol.calls.start(call)
    // The call fails at once, because waiting would not change the credentials. Attempts to connect continue, because
    // the server may accept the credentials later.
    if (this.#refusal !== undefined) throw forOneMore(this.#refusal)
    this.#calls.wait(call, undefined, !this.#everConnected)
    if (!this.#reconnects) this.#connectAll()
  }

  /** Number of calls that have not ended, with and without a connection. */
  get inFlight(): number {
    return this.#calls.inFlight + this.#endpoints.inFlight
  }

  /** Closes the client; waiting calls fail. Resolves when all connections are closed. */
  close(): Promise<void> {
    // If a user closes the client without awaiting `connect()`, its rejection must not be reported as unhandled.
    this.#connecting?.catch(() => {})
    this.#closing ??= this.#end()
    return this.#closing
  }

  // ── called by endpoints ──────────────────────────────────────────────────────────────────────────────

  /** Makes the protocol of an endpoint's connection. A call that fails on it is passed to `#recover`. */
  protocol(endpoint: Endpoint, where: string, goingAway: () => void): ClientProtocol {
    const recover: Recover = (call, error) => this.#recover(endpoint, call, error)
    const eventRefused = (pattern: string, error: Error) =>
      this.#notices.tell({ type: 'event-refused', pattern, endpoint: endpoint.name, error })
    const handOver = (call: PendingCall) => this.#calls.start(call)
    return this.#newProtocol({ where, endpoint: endpoint.name, recover, eventRefused, goingAway, handOver })
  }

  opened(endpoint: Endpoint): void {
    this.#everConnected = true
    this.#unreached = undefined
    this.#refusal = undefined
    this.#notices.tell({ type: 'connected', endpoint: endpoint.name })
    this.#update()
    this.#release()
    for (const other of this.#endpoints.current) other.reconnect()
  }

  lost(endpoint: Endpoint, open: boolean, error: Error | undefined): void {
    if (this.#calls.isClosed) return
    this.#unreached = { endpoint: endpoint.name, reason: error }
    const type = open ? 'disconnected' : 'connect-failed'
    this.#notices.tell({ type, endpoint: endpoint.name, error })
    this.#source.refresh()
    if (this.#reconnects) endpoint.reconnect()
    this.#update()
    this.#release()
    const { usable, connecting } = this.#endpoints
    if (error instanceof UnauthenticatedError && !usable && !connecting) {
      if (this.#reconnects) this.#refusal = error
      return this.#failWaiting(error)
    }
    if (this.#reconnects || connecting) return
    if (!open) this.#failWaiting(error)
  }

  pausing(endpoint: Endpoint, attempt: number, delay: number): void {
    this.#notices.tell({ type: 'reconnecting', endpoint: endpoint.name, attempt, delay })
  }

  // ── calls ────────────────────────────────────────────────────────────────────────────────────────────

  #linkFor(call: PendingCall): Link | undefined {
    const sole = this.#sole
    if (sole === undefined) {
      if (this.#starting) return undefined
      return this.#balancer.pick(performance.now(), call.options?.key, call.failedAt)?.link
    }
    // The first calls wait in the connection that is being made, and are sent with its first write.
    if (this.#reconnects) return undefined
    const link = sole.connect(false)
    this.#update()
    this.#direct = link
    return link
  }

  /** The only endpoint, if the client can have only one connection. */
  get #sole(): Endpoint | undefined {
    const only = this.#source.fixed?.length === 1 && this.#resilience.connections === 1
    return only ? this.#endpoints.current[0] : undefined
  }

  /** Whether the client reconnects by itself. */
  get #reconnects(): boolean {
    return this.#everConnected && this.#resilience.reconnect !== undefined
  }

  /** A call has failed at an endpoint. Returns true if the call continues. */
  #recover(endpoint: Endpoint | undefined, call: PendingCall, error: Error): boolean {
    if (this.#calls.isClosed) return false
    const isElsewhere = this.#endpoints.current.some(({ name, usable }) => name !== endpoint?.name && usable)
    const isFailure = isEndpointFailure(error)
    // The connection has too many unsent bytes, so this side has refused the call. Another endpoint may still take it.
    if (!isFailure && !(isElsewhere && error instanceof OverloadedError)) return false
    // An endpoint without a connection gets no calls anyway, and an endpoint that goes away has not failed.
    if (isFailure && endpoint?.usable && this.#endpoints.names.length > 1)
      this.#balancer.failed(endpoint, performance.now())
    return this.#calls.retry(call, error, { endpoint, isElsewhere, started: this.#endpoints.started })
  }

  /** Sends the waiting calls, if there is a connection for them. */
  #release(): void {
    if (this.#starting || !this.#endpoints.usable) return
    this.#calls.release()
  }

  /** The addresses of all servers, for messages. */
  get #where(): string {
    return this.#endpoints.names.map((name) => `${this.#scheme}${name}`).join(', ') || 'any endpoint'
  }

  #failWaiting(cause: Error | undefined): void {
    this.#calls.failWaiting((mayHaveRun) =>
      cause instanceof UnauthenticatedError
        ? forOneMore(cause)
        : cannotConnect(this.#where, cause, mayHaveRun, reasonOf)
    )
  }

  // ── endpoints ────────────────────────────────────────────────────────────────────────────────────────

  #connectAll(): void {
    if (this.#source.fixed === undefined) {
      this.#source.start().catch((error: Error) => this.#failWaiting(error))
    }
    for (const endpoint of this.#endpoints.current) endpoint.connect(true)
    this.#update()
  }

  #use(addresses: readonly Address[], fixed = false): void {
    const added = this.#endpoints.use(addresses)
    const { current } = this.#endpoints
    this.#balancer.use(current)
    if (added === undefined) return
    // A fixed list of endpoints is connected at the first call, and does not change.
    if (fixed) return
    this.#notices.tell({ type: 'endpoints', endpoints: this.#endpoints.names })
    for (const endpoint of added) endpoint.connect(true)
    this.#update()
    this.#release()
  }

  /** Updates everything that depends on the state of the endpoints. */
  #update(): void {
    const sole = this.#sole
    this.#direct = !this.#calls.isClosed && sole?.usable ? sole.link : undefined
    this.#starting &&= !this.#endpoints.usable || this.#endpoints.awaitsBetter
    this.#notices.status = this.#status()
  }

  #status(): Notices['status'] {
    if (this.#calls.isClosed) return 'closed'
    if (this.#endpoints.usable) return 'connected'
    if (this.#reconnects) return 'reconnecting'
    return this.#endpoints.connecting ? 'connecting' : 'disconnected'
  }

  async #end(): Promise<void> {
    this.#source.stop()
    this.#calls.close(ConnectionError.closed)
    this.#update()
    await this.#endpoints.end()
  }
}

/** Whether the reason for an error is the endpoint and not the call. */
export function isEndpointFailure(error: Error): boolean {
  return error instanceof ConnectionError || error instanceof TimeoutError || error instanceof RejectedError
}

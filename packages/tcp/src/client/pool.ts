/**
 * The connections of a client, one or more for each endpoint. Decides which connection takes a call, lets calls without
 * a connection wait, and retries failed calls.
 */

import {
  type ClientContext,
  ConnectionError,
  forOneMore,
  type Notices,
  noteCall,
  OverloadedError,
  type PendingCall,
  quietLog,
  type Recover,
  UnauthenticatedError
} from '@elysia-microservices/transport/kit'
import type { Address } from '../balance/address.ts'
import { Balancer } from '../balance/balancer.ts'
import { cannotConnect } from '../connection/connection-errors.ts'
import type { ClientProtocol } from '../connection/protocol.ts'
import type { CheckedClientOptions } from '../options/client-options.ts'
import type { CheckedResilience } from '../options/resilience-options.ts'
import { Endpoint, type EndpointOwner } from './endpoint.ts'
import { EndpointSet } from './endpoint-set.ts'
import { EndpointSource } from './endpoint-source.ts'
import type { Link } from './link.ts'
import { isEndpointFailure, RetryPolicy } from './retry-policy.ts'
import { UNTIL_CONNECTED, WaitingCalls } from './waiting-calls.ts'

/** Makes the protocol of a connection. @param where the server's address for messages */
export type NewProtocol = (where: string, goingAway: () => void, recover: Recover) => ClientProtocol

/** Keeps connections and gives them calls. */
export class Pool implements EndpointOwner {
  /** The connection of a client that has only one, whose calls need no choice. */
  #direct: Link | undefined
  readonly #resilience: CheckedResilience
  readonly #notices: Notices
  readonly #newProtocol: NewProtocol
  readonly #source: EndpointSource
  readonly #balancer: Balancer<Endpoint>
  readonly #waiting: WaitingCalls
  readonly #retries: RetryPolicy
  readonly #endpoints: EndpointSet
  #everConnected = false
  /** The servers' refusal of the credentials; fails all calls until a connection is made. */
  #refusal: UnauthenticatedError | undefined
  /** The endpoints of best priority are tried for the first time: calls wait. */
  #starting = true
  #closed = false
  #closing: Promise<void> | undefined

  /** @throws {OptionError} an endpoint is not `host:port` */
  constructor(
    options: CheckedClientOptions,
    { logger, timeout }: ClientContext,
    notices: Notices,
    newProtocol: NewProtocol
  ) {
    const { resilience } = options
    this.#resilience = resilience
    this.#notices = notices
    this.#newProtocol = newProtocol
    this.#retries = new RetryPolicy(resilience.retry, performance.now(), Math.random, () =>
      quietLog(logger).warn(
        'retry-budget',
        'A call fails and is not made again: options.retry.budget is used up'
      )
    )
    this.#waiting = new WaitingCalls(timeout, (call) => this.call(call))
    this.#balancer = new Balancer({
      health: resilience.eject,
      random: Math.random,
      ejected: ({ name }, delay) => notices.tell({ type: 'ejected', endpoint: name, delay }),
      restored: ({ name }) => notices.tell({ type: 'restored', endpoint: name })
    })
    this.#endpoints = new EndpointSet(
      resilience.connections,
      (name, { host, port }, slot) => new Endpoint(name, slot, { ...options, host, port }, logger, this)
    )
    this.#source = new EndpointSource(
      resilience,
      options,
      (addresses) => this.#use(addresses),
      (error) => notices.tell({ type: 'resolve-failed', error })
    )
    if (this.#source.fixed !== undefined) this.#use(this.#source.fixed, true)
  }

  /** Connects to all endpoints; resolves with the first. Rejects with a `ConnectionError` if none can be reached. */
  async connect(): Promise<void> {
    if (this.#closed) throw ConnectionError.closed()
    if (this.#source.fixed === undefined) await this.#source.start()
    if (this.#endpoints.usable) return
    const attempts = this.#endpoints.current.map((endpoint) => this.#connect(endpoint))
    this.#update()
    if (attempts.length === 0)
      throw new ConnectionError(
        'There is no endpoint to connect to: options.endpoints gave an empty list',
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

  /** Makes a call at once, or when there is a connection for it. */
  call(call: PendingCall): void {
    if (this.#closed) return call.fail(ConnectionError.closed())
    const link = this.#linkFor(call)
    if (link !== undefined) return link.protocol.start(call)
    // Waiting would not change the credentials. Connections are still tried, because the server may accept them later.
    if (this.#refusal !== undefined) return call.fail(forOneMore(this.#refusal))
    this.#waiting.add(call, UNTIL_CONNECTED)
    if (!this.#reconnects) this.#connectAll()
  }

  /** Closes the client; waiting calls fail. Resolves when all connections are closed. */
  close(): Promise<void> {
    this.#closed = true
    this.#closing ??= this.#end()
    return this.#closing
  }

  // ── calls from endpoints ──────────────────────────────────────────────────────────────────────────────

  protocol(endpoint: Endpoint, where: string, goingAway: () => void): ClientProtocol {
    return this.#newProtocol(where, goingAway, (call, error) => {
      if (this.#recover(endpoint, call, error)) return true
      noteCall(error, () => ({ endpoint: endpoint.name }))
      return false
    })
  }

  opened(endpoint: Endpoint): void {
    this.#everConnected = true
    this.#waiting.reason = undefined
    this.#waiting.endpoint = undefined
    this.#refusal = undefined
    this.#notices.tell({ type: 'connected', endpoint: endpoint.name })
    this.#update()
    this.#release()
    for (const other of this.#endpoints.current) other.reconnect()
  }

  lost(endpoint: Endpoint, open: boolean, error: Error | undefined): void {
    if (this.#closed) return
    this.#waiting.reason = error
    this.#waiting.endpoint = endpoint.name
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
    if (this.#direct !== undefined) return this.#direct
    const sole = this.#sole
    if (sole === undefined) {
      if (this.#starting) return undefined
      return this.#balancer.pick(performance.now(), call.options?.key, call.failedAt)?.link
    }
    // The first calls wait in the connection that is being made, and leave with its first write.
    if (this.#reconnects) return undefined
    const link = sole.connect(false)
    this.#update()
    this.#direct = link
    return link
  }

  /** The endpoint, if there can be only one connection. */
  get #sole(): Endpoint | undefined {
    const only = this.#source.fixed?.length === 1 && this.#resilience.connections === 1
    return only ? this.#endpoints.current[0] : undefined
  }

  /** Whether lost connections are made again by themselves. */
  get #reconnects(): boolean {
    return this.#everConnected && this.#resilience.reconnect !== undefined
  }

  /** A call has failed at an endpoint. Returns true if the call goes on. */
  #recover(endpoint: Endpoint | undefined, call: PendingCall, error: Error): boolean {
    if (this.#closed) return false
    const elsewhere = this.#endpoints.current.some(({ name, usable }) => name !== endpoint?.name && usable)
    const isFailure = isEndpointFailure(error)
    // A call refused by this side, because the connection has too much unsent, may still go to another endpoint.
    if (!isFailure && !(elsewhere && error instanceof OverloadedError)) return false
    const now = performance.now()
    // An endpoint without a connection gets no calls anyway, and one that is going away has not failed.
    if (isFailure && endpoint?.usable && this.#endpoints.names.length > 1)
      this.#balancer.failed(endpoint, now)
    if (error instanceof ConnectionError && error.mayHaveRun) call.mayHaveRun = call.mayHaveRunBefore = true
    const delay = this.#retries.pause(call, error, elsewhere, now, this.#endpoints.started)
    if (delay === undefined) return false
    call.retries++
    call.isDelayed = true
    call.failedAt = endpoint
    const { name: pattern, retries: attempt } = call
    const headers = call.options?.headers
    this.#notices.tell({ type: 'retry', pattern, endpoint: endpoint?.name, attempt, delay, error, headers })
    if (delay === 0) this.call(call)
    else this.#waiting.add(call, now + delay)
    return true
  }

  /** Makes the waiting calls, if there is a connection for them. */
  #release(): void {
    if (this.#starting || !this.#endpoints.usable) return
    for (const call of this.#waiting.takeUnconnected()) this.call(call)
  }

  /** The servers' addresses for messages. */
  get #where(): string {
    return this.#endpoints.names.map((name) => `tcp://${name}`).join(', ') || 'any endpoint'
  }

  #failWaiting(cause: Error | undefined): void {
    for (const call of this.#waiting.takeUnconnected()) {
      const error =
        cause instanceof UnauthenticatedError
          ? forOneMore(cause)
          : cannotConnect(this.#where, cause, call.mayHaveRun)
      if (this.#recover(undefined, call, error)) continue
      call.fail(noteCall(error, () => ({ endpoint: this.#waiting.endpoint })))
    }
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
    // A fixed list is connected to at the first call.
    if (fixed) return
    this.#notices.tell({ type: 'endpoints', endpoints: this.#endpoints.names })
    for (const endpoint of added) endpoint.connect(true)
    this.#update()
    this.#release()
  }

  /** Updates everything that depends on the state of the endpoints. */
  #update(): void {
    const sole = this.#sole
    this.#direct = !this.#closed && sole?.usable ? sole.link : undefined
    this.#starting &&= !this.#endpoints.usable || this.#endpoints.awaitsBetter
    this.#notices.status = this.#status()
  }

  #status(): Notices['status'] {
    if (this.#closed) return 'closed'
    if (this.#endpoints.usable) return 'connected'
    if (this.#reconnects) return 'reconnecting'
    return this.#endpoints.connecting ? 'connecting' : 'disconnected'
  }

  async #end(): Promise<void> {
    this.#source.stop()
    this.#update()
    this.#waiting.close(() => ConnectionError.closed())
    await this.#endpoints.end()
  }
}

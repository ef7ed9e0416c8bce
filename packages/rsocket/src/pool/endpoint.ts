/** One connection of a client to one of its servers, and the attempts to restore the connection. */

import {
  type BackoffOptions,
  backoffDelay,
  ConnectionError,
  UnauthenticatedError
} from '@elysia-microservices/transport/kit'
import type { Address } from '../balance/address.ts'
import type { Candidate } from '../balance/balancer.ts'
import { cannotConnect } from '../connection/connection-errors.ts'
import type { ClientProtocol } from '../connection/protocol.ts'
import { reasonOf } from '../connection/system-errors.ts'

/**
 * One connection of a client, from its first attempt to its end. A resumed connection continues over another socket.
 */
export interface Link {
  readonly protocol: ClientProtocol
  /** The server's address for messages, such as `tcp://localhost:4000`. */
  readonly where: string
  /** Resolves when the connection is made; rejects if it cannot be made. */
  readonly connected: Promise<void>
  /** Resolves when the connection has ended, with the reason if there is one. */
  readonly closed: Promise<Error | undefined>
  /** Waits for calls in flight, then closes. While a connection is being made or restored, it ends at once. */
  drain(): void
  /** Ends the connection at once, even while it is being made; its calls fail. */
  end(): void
}

/** The functions of an endpoint that a link calls. */
export interface LinkParts {
  /**
   * Makes the protocol.
   * @param where the server's address for messages
   */
  protocol(where: string): ClientProtocol
  /** Called when the connection has ended, before its calls fail. */
  over(reason: Error | undefined): void
}

/** Starts a connection to an address. */
export type NewLink = (address: Address, parts: LinkParts) => Link

/** The options of an endpoint. */
export interface EndpointOptions {
  readonly address: Address
  readonly newLink: NewLink
  /** Most milliseconds for making a connection. */
  readonly connectTimeout: number
  /** Pauses before reconnecting; `undefined`: only the next call reconnects. */
  readonly reconnect: BackoffOptions | undefined
}

/** The pool, as an endpoint uses it: it makes protocols and is told about connections. */
export interface EndpointOwner {
  /** Makes the protocol of a connection. */
  protocol(endpoint: Endpoint, where: string, goingAway: () => void): ClientProtocol
  /** The connection was made. */
  opened(endpoint: Endpoint): void
  /** The connection has ended or its server goes away. If `open` is false, the connection could not be made. */
  lost(endpoint: Endpoint, open: boolean, error: Error | undefined): void
  /** The next attempt follows after `delay` milliseconds. */
  pausing(endpoint: Endpoint, attempt: number, delay: number): void
}

/** A server and one connection to it. */
export class Endpoint implements Candidate {
  readonly name: string
  readonly slot: number
  priority = 0
  weight = 1
  readonly #options: EndpointOptions
  readonly #owner: EndpointOwner
  /** Connections that take no new calls; their calls in flight end on them. */
  readonly #leaving = new Set<Link>()
  #link: Link | undefined
  #ready: Promise<void> = Promise.resolve()
  #usable = false
  #untried = true
  #left = false
  #openedAt = 0
  /** Number of attempts since the last connection that was kept for a while. */
  #attempts = 0
  #pause: ReturnType<typeof setTimeout> | undefined
  #startedBefore = 0

  /** @param slot number of this connection among the connections to the same server, from 0 */
  constructor(name: string, slot: number, options: EndpointOptions, owner: EndpointOwner) {
    this.name = name
    this.slot = slot
    this.#options = options
    this.#owner = owner
  }

  /** The connection, whether it is made or still being made. */
  get link(): Link | undefined {
    return this.#link
  }

  get usable(): boolean {
    return this.#usable
  }

  /** Whether a connection is being made. */
  get connecting(): boolean {
    return this.#link !== undefined && !this.#usable
  }

  /** Whether the first attempt to connect has not ended yet. */
  get untried(): boolean {
    return this.#untried
  }

  get inFlight(): number {
    return this.#link?.protocol.inFlight ?? 0
  }

  /** Number of calls in flight, also on connections that take no new calls. */
  get allInFlight(): number {
    return [...this.#leaving].reduce((sum, { protocol }) => sum + protocol.inFlight, this.inFlight)
  }

  /** Number of calls made so far. */
  get started(): number {
    return this.#startedBefore + (this.#link?.protocol.calls.started ?? 0)
  }

  /** Takes over priority and weight of its address. */
  rank({ priority = 0, weight = 1 }: Address): void {
    this.priority = priority
    this.weight = weight
  }

  /** Resolves when the newest connection can be used; rejects if it could not be made. */
  get ready(): Promise<void> {
    return this.#ready
  }

  /**
   * Connects now, unless connected or connecting. The result is told by `ready`.
   * @param sure waits for an answer of the server itself: the system also accepts connections for a server that is
   * still starting or already stopping, and calls sent to such a server are lost. Costs one round trip
   */
  connect(sure: boolean): Link {
    clearTimeout(this.#pause)
    this.#pause = undefined
    this.#link ??= this.#open(sure)
    return this.#link
  }

  /** Connects after a pause, unless a connection or a pause already exists. */
  reconnect(): void {
    const { reconnect } = this.#options
    if (reconnect === undefined || this.#left) return
    if (this.#link !== undefined || this.#pause !== undefined) return
    const delay = backoffDelay(reconnect, this.#attempts++, Math.random())
    this.#owner.pausing(this, this.#attempts, delay)
    this.#pause = setTimeout(() => this.connect(true), delay)
  }

  /** The server was removed from the list: waits for calls in flight, then closes. */
  async leave(): Promise<void> {
    this.#forget()
    for (const link of this.#leaving) link.drain()
    await this.#closed()
  }

  /** Ends all connections at once. */
  async end(): Promise<void> {
    this.#forget()
    for (const link of this.#leaving) {
      link.protocol.calls.close(ConnectionError.closed)
      link.end()
    }
    await this.#closed()
  }

  #forget(): void {
    this.#left = true
    clearTimeout(this.#pause)
    const link = this.#link
    if (link === undefined) return
    this.#startedBefore = this.started
    this.#leaving.add(link)
    this.#link = undefined
    this.#usable = false
  }

  async #closed(): Promise<void> {
    await Promise.all([...this.#leaving].map((link) => link.closed))
  }

  #open(sure: boolean): Link {
    const { address, newLink } = this.#options
    const link: Link = newLink(address, {
      protocol: (where) =>
        this.#owner.protocol(this, where, () => {
          // Calls in flight end on this connection; the next call uses a new connection.
          this.#leaving.add(link)
          this.#detach(link, undefined)
          link.drain()
        }),
      over: (error) => {
        this.#leaving.delete(link)
        this.#detach(link, error)
      }
    })
    this.#ready = sure ? this.#confirmed(link) : link.connected
    this.#ready.then(
      () => {
        if (this.#link !== link) return
        this.#usable = true
        this.#untried = false
        this.#openedAt = performance.now()
        this.#owner.opened(this)
      },
      // `over` of the link reports the failure.
      () => {}
    )
    return link
  }

  async #confirmed(link: Link): Promise<void> {
    await link.connected
    const sign = link.protocol.confirm?.()
    if (sign === undefined) return
    const { connectTimeout } = this.#options
    const timer = setTimeout(() => link.end(), connectTimeout)
    const ended = link.closed.then((cause) => {
      if (cause instanceof UnauthenticatedError) throw cause
      throw cannotConnect(
        link.where,
        cause ?? new Error('the server closed the connection before it answered'),
        false,
        reasonOf
      )
    })
    await Promise.race([sign, ended]).finally(() => clearTimeout(timer))
  }

  #detach(link: Link, error: Error | undefined): void {
    if (this.#link !== link) return
    this.#startedBefore = this.started
    this.#link = undefined
    const open = this.#usable
    this.#usable = false
    this.#untried = false
    // Only a connection that was kept for a while resets the pauses: a server that drops each connection at once must
    // not be retried without a pause.
    const lasted = performance.now() - this.#openedAt
    if (open && lasted >= (this.#options.reconnect?.maxDelay ?? 0)) this.#attempts = 0
    this.#owner.lost(this, open, error)
  }
}

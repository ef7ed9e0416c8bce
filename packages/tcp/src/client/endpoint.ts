/** One connection of a client to one of its servers, and the attempts to have it back. */

import {
  type BackoffOptions,
  backoffDelay,
  type Logger,
  UnauthenticatedError
} from '@elysia-microservices/transport/kit'
import type { Address } from '../balance/address.ts'
import type { Candidate } from '../balance/balancer.ts'
import { cannotConnect } from '../connection/connection-errors.ts'
import type { ClientProtocol } from '../connection/protocol.ts'
import type { CheckedClientOptions } from '../options/client-options.ts'
import { Link } from './link.ts'

/** The pool of an endpoint: it makes its protocols, and hears of its connections. */
export interface EndpointOwner {
  protocol(endpoint: Endpoint, where: string, goingAway: () => void): ClientProtocol
  /** The connection is made. */
  opened(endpoint: Endpoint): void
  /** The connection is over or going away, or could not be made if it was not `open`. */
  lost(endpoint: Endpoint, open: boolean, error: Error | undefined): void
  /** The next attempt comes after `delay` milliseconds. */
  pausing(endpoint: Endpoint, attempt: number, delay: number): void
}

/** A server and a connection to it. */
export class Endpoint implements Candidate {
  readonly name: string
  readonly slot: number
  priority = 0
  weight = 1
  readonly #options: CheckedClientOptions
  readonly #reconnect: BackoffOptions | undefined
  readonly #owner: EndpointOwner
  /** Connections whose server is going away: their calls end there. */
  readonly #leaving = new Set<Link>()
  readonly #logger: Logger
  #link: Link | undefined
  #ready: Promise<void> = Promise.resolve()
  #usable = false
  #untried = true
  #left = false
  #openedAt = 0
  /** Attempts since a connection has lasted. */
  #attempts = 0
  #pause: ReturnType<typeof setTimeout> | undefined
  #startedBefore = 0

  /** @param slot which of the connections to the server it is, from 0 */
  constructor(
    name: string,
    slot: number,
    options: CheckedClientOptions,
    logger: Logger,
    owner: EndpointOwner
  ) {
    this.name = name
    this.slot = slot
    this.#options = options
    this.#logger = logger
    this.#reconnect = options.resilience.reconnect
    this.#owner = owner
  }

  /** The connection, made or being made. */
  get link(): Link | undefined {
    return this.#link
  }

  get usable(): boolean {
    return this.#usable
  }

  /** A connection is being made. */
  get connecting(): boolean {
    return this.#link !== undefined && !this.#usable
  }

  /** No attempt to connect has ended yet, well or not. */
  get untried(): boolean {
    return this.#untried
  }

  get inFlight(): number {
    return this.#link?.protocol.inFlight ?? 0
  }

  /** Calls made so far. */
  get started(): number {
    return this.#startedBefore + (this.#link?.protocol.started ?? 0)
  }

  /** Takes its priority and weight from its address. */
  rank({ priority = 0, weight = 1 }: Address): void {
    this.priority = priority
    this.weight = weight
  }

  /** Settles when the last connection that was begun can be used, or when it cannot be. */
  get ready(): Promise<void> {
    return this.#ready
  }

  /**
   * Connects now, if it is not done yet. `ready` tells how it went.
   * @param sure only a server that has answered counts: the system takes connections before a server that
   *   starts does, and for one that stops, and calls sent there are lost. Costs the time of one answer
   */
  connect(sure: boolean): Link {
    clearTimeout(this.#pause)
    this.#pause = undefined
    this.#link ??= this.#open(sure)
    return this.#link
  }

  /** Connects after a pause, if nothing else is under way. */
  reconnect(): void {
    if (this.#reconnect === undefined || this.#left) return
    if (this.#link !== undefined || this.#pause !== undefined) return
    const delay = backoffDelay(this.#reconnect, this.#attempts++, Math.random())
    this.#owner.pausing(this, this.#attempts, delay)
    this.#pause = setTimeout(() => this.connect(true), delay)
  }

  /** The server is no longer one of the service's: calls in flight end, then the connection does. */
  async leave(): Promise<void> {
    this.#forget()
    for (const link of this.#leaving) link.drain()
    await this.#closed()
  }

  /** Ends all connections at once. */
  async end(): Promise<void> {
    this.#forget()
    for (const link of this.#leaving) link.end()
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
    const link: Link = new Link({
      options: this.#options,
      logger: this.#logger,
      protocol: (where) =>
        this.#owner.protocol(this, where, () => {
          // Calls in flight end on this connection, the next one makes another.
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
      // The end of the link tells it.
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
      throw cannotConnect(link.where, cause ?? new Error('it closed the connection before it answered'))
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
    // One that is made and lost again and again must not be tried without pauses.
    const lasted = performance.now() - this.#openedAt
    if (open && lasted >= (this.#reconnect?.maxDelay ?? 0)) this.#attempts = 0
    this.#owner.lost(this, open, error)
  }
}

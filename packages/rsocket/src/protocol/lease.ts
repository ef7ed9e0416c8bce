/** Leases: permission for a number of requests within a time. Protocol.md, "Lease Semantics". */

import { MAX_UINT31 } from './frame-type.ts'

/** The lease that a requester holds. */
export class HeldLease {
  readonly #now: () => number
  #requests = 0
  #expiresAt = 0

  constructor(now: () => number) {
    this.#now = now
  }

  /**
   * A LEASE frame has arrived; it replaces the previous lease. The largest numbers mean that there is no limit: such a
   * lease is not renewed.
   */
  renew(timeToLive: number, requests: number): void {
    this.#requests = unlimited(requests)
    this.#expiresAt = this.#now() + unlimited(timeToLive)
  }

  /** Whether the lease has a request left and has not expired. */
  get isLeft(): boolean {
    return this.#requests > 0 && this.#now() < this.#expiresAt
  }

  /** Uses one request of the lease. Returns false if the lease is used up or has expired. */
  use(): boolean {
    if (!this.isLeft) return false
    this.#requests--
    return true
  }

  /** Gives one request back to the lease, because the request was not sent. */
  giveBack(): void {
    this.#requests++
  }
}

function unlimited(number: number): number {
  return number === MAX_UINT31 ? Number.POSITIVE_INFINITY : number
}

/** Limits by which a responder grants leases. */
export interface LeaseOptions {
  /** Most requests of one connection that may be in flight. */
  readonly concurrency: number
  /** Milliseconds for which a lease is valid. */
  readonly timeToLive: number
}

/** Grants leases so that never more than `concurrency` requests are in flight. */
export class LeaseGranter {
  readonly #options: LeaseOptions
  readonly #now: () => number
  readonly #send: (timeToLive: number, requests: number) => void
  #left = 0
  #expiresAt = 0

  constructor(
    options: LeaseOptions,
    now: () => number,
    send: (timeToLive: number, requests: number) => void
  ) {
    this.#options = options
    this.#now = now
    this.#send = send
  }

  /** Whether all requests of the lease have arrived. */
  get isUsedUp(): boolean {
    return this.#left === 0
  }

  /** Counts a request that has arrived. Returns false if no lease covers it. */
  take(): boolean {
    if (this.#left === 0 || this.#now() >= this.#expiresAt) return false
    this.#left--
    return true
  }

  /**
   * Grants a lease for the present room, when all granted requests have arrived or half of the lease's time has passed.
   * Not earlier, because a LEASE replaces the previous lease, and requests that were already sent under the previous
   * lease would arrive in addition.
   * @param available number of requests for which the whole server has room
   */
  grant(inFlight: number, available = Number.POSITIVE_INFINITY): void {
    const { concurrency, timeToLive } = this.#options
    const room = Math.max(0, Math.min(concurrency - inFlight, available))
    const now = this.#now()
    const halfTime = now + timeToLive / 2 >= this.#expiresAt
    if (room === 0 || (this.#left > 0 && !halfTime)) return
    this.#left = room
    this.#expiresAt = now + timeToLive
    this.#send(timeToLive, room)
  }

  /** Forgets the granted lease, because the connection continues over another socket. */
  restart(): void {
    this.#expiresAt = 0
  }

  /** Time at which `grant` must be called again, so that a waiting requester gets a new lease. */
  get renewAt(): number {
    return this.#expiresAt - this.#options.timeToLive / 2
  }
}

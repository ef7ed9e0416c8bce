/** Leases: permission to send so many requests within so much time. Protocol.md, "Lease Semantics". */

/** What a requester may still send. */
export class HeldLease {
  readonly #now: () => number
  #requests = 0
  #expiresAt = 0

  constructor(now: () => number) {
    this.#now = now
  }

  /** A LEASE frame has come; it replaces the one before. */
  renew(timeToLive: number, requests: number): void {
    this.#requests = requests
    this.#expiresAt = this.#now() + timeToLive
  }

  /** Uses one request of the lease; false if there is none left, or no time. */
  use(): boolean {
    if (this.#requests === 0 || this.#now() >= this.#expiresAt) return false
    this.#requests--
    return true
  }
}

/** What a responder grants: as many requests as there is room for at the same time. */
export interface LeaseOptions {
  /** Requests of one connection that may be in flight at the same time. */
  readonly concurrency: number
  /** Milliseconds a lease is good for. */
  readonly timeToLive: number
}

/** Grants leases so that no more than `concurrency` requests are ever in flight. */
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

  /** Takes a request that has come; false if no lease covers it. */
  take(): boolean {
    if (this.#left === 0 || this.#now() >= this.#expiresAt) return false
    this.#left--
    return true
  }

  /**
   * Grants what there is room for, once all that was granted has come, or when time is running out. Not before:
   * a LEASE replaces what the requester has left, and of that some may be on its way already, which would come
   * on top of what is granted now.
   * @param available what the server as a whole has room for
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

  /** Forgets what was granted: the connection goes on with another socket. */
  restart(): void {
    this.#left = 0
    this.#expiresAt = 0
  }

  /** When to call `grant` again, so that a waiting requester is not forgotten. */
  get renewAt(): number {
    return this.#expiresAt - this.#options.timeToLive / 2
  }
}

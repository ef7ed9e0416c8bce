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

/** The data of a KEEPALIVE by which a client of this library asks for a lease. Any server echoes it. */
export const LEASE_WANTED = Uint8Array.from('lease', (letter) => letter.charCodeAt(0))

/** Whether the data of a KEEPALIVE asks for a lease. */
export function isLeaseWanted(buffer: Uint8Array, start: number, end: number): boolean {
  const { length } = LEASE_WANTED
  return end - start === length && LEASE_WANTED.every((byte, index) => byte === buffer[start + index])
}

/** The leases that a server grants a client which waits for them: for what the connection and the server have room. */
import type { SharedLimits } from '../../limits/server-limits.ts'
import type { Timer } from '../connection.ts'
import { LeaseGranter, type LeaseOptions } from './lease.ts'

/** The connection whose requests are granted. */
export interface LeaseHost {
  readonly limits: SharedLimits
  readonly timer: Timer
  readonly inFlight: number
  /** It takes new requests. */
  readonly isOpen: boolean
  sendLease(timeToLive: number, requests: number): void
}

/** Grants the leases of one connection. */
export class GrantedLeases {
  readonly #host: LeaseHost
  readonly #granter: LeaseGranter
  /** Nothing could be granted; waits for the server to have room. */
  #waitsForRoom = false

  constructor(host: LeaseHost, options: LeaseOptions) {
    this.#host = host
    const { limits, timer } = host
    this.#granter = new LeaseGranter(
      options,
      () => timer.now(),
      (timeToLive, requests) => host.sendLease(timeToLive, requests)
    )
    if (limits.admission !== undefined) limits.admission.leaseHolders++
  }

  /** Takes a request that has come; false if no lease covers it. */
  take(): boolean {
    return this.#granter.take()
  }

  /** Grants what there is room for. To be called whenever that may be more, or time is running out. */
  grant(): void {
    const { isOpen, limits, timer, inFlight } = this.#host
    if (!isOpen) return
    const room = limits.admission?.share ?? Number.POSITIVE_INFINITY
    this.#granter.grant(inFlight, room)
    if (room === 0) this.#grantWhenFree()
    // In the past: nothing could be granted, and what ends or becomes free grants again.
    const { renewAt } = this.#granter
    if (renewAt > timer.now()) timer.wakeAt(renewAt)
  }

  /** Forgets what was granted, and grants anew: the connection goes on with another socket. */
  restart(): void {
    this.#granter.restart()
    this.grant()
  }

  /** The connection is over. Called once. */
  end(): void {
    const { admission } = this.#host.limits
    if (admission !== undefined) admission.leaseHolders--
  }

  #grantWhenFree(): void {
    if (this.#waitsForRoom) return
    this.#waitsForRoom = true
    this.#host.limits.admission?.whenFree(() => {
      this.#waitsForRoom = false
      this.grant()
    })
  }
}

/**
 * Decides which requests of one connection a server accepts. It accepts requests as far as its limits have room, grants
 * leases to a client that waits for leases, and accepts no new request when it drains.
 */
import type { Timer } from '@elysia-microservices/transport/kit'
import type { SharedLimits } from '../limits/server-limits.ts'
import { ErrorCode, MAX_UINT31 } from './frame-type.ts'
import { writeError, writeLease, writeMetadataPush } from './frames.ts'
import { goingAwayMetadata } from './going-away.ts'
import { LeaseGranter } from './lease.ts'
import type { Wire } from './wire.ts'

/** Milliseconds for which a lease is valid. */
const LEASE_TIME = 30_000

/** The parameters of a gate. */
export interface ServerGateInit {
  readonly wire: Wire
  readonly timer: Timer
  readonly limits: SharedLimits
  /** Whether the client waits for leases. */
  readonly wantsLeases: boolean
  /** Whether the client understands the early announcement of `going-away.ts`. */
  readonly understandsGoingAway: boolean
  readonly connection: { /** Number of requests and events in flight. */ readonly inFlight: number }
}

/** Admits or refuses the requests of one connection. */
export class ServerGate {
  readonly #init: ServerGateInit
  /** Every request may start, and the end of a request changes nothing, so the gate need not be called. */
  isOpen: boolean
  #leases: LeaseGranter | undefined
  /** No lease could be granted, and the gate waits until the server has room. */
  #waitsForRoom = false
  /** Why the server drains; `undefined` while it does not drain. */
  #drainReason: string | undefined
  #hasSaidGoodbye = false
  #hasEnded = false

  constructor(init: ServerGateInit) {
    this.#init = init
    const { maxInFlight, admission } = init.limits
    this.isOpen = admission === undefined && maxInFlight === Number.POSITIVE_INFINITY
  }

  /** The connection is set up: grants the first lease if the client waits for one. */
  open(): void {
    if (this.#init.wantsLeases) this.#openLeases()
  }

  /**
   * Counts a request that may start. Returns the reason if the request is refused, else `undefined`. Events are also
   * accepted while the server drains: their sender could not be told of a refusal.
   */
  refuse(inFlight: number, isEvent = false): string | undefined {
    if (this.#drainReason !== undefined && !isEvent) return this.#drainReason
    const { limits } = this.#init
    if (this.isOpen) return undefined
    const refusal = this.#refusal(inFlight)
    if (refusal !== undefined) limits.refused('requests', refusal)
    return refusal
  }

  /** A request has ended, or the timer has fired: grants leases, and ends a draining connection that is idle. */
  settled(): void {
    this.#grant()
    this.#sayGoodbyeWhenIdle()
  }

  /** The connection continues over another socket: grants a new lease instead of the old lease. */
  restartLeases(): void {
    this.#leases?.restart()
    this.#grant()
  }

  /** Accepts no new requests. Returns true, because the client is told and closes the connection itself. */
  drain(reason: string): boolean {
    if (this.#drainReason !== undefined) return true
    this.#drainReason = reason
    this.isOpen = false
    const { wire, understandsGoingAway, connection } = this.#init
    if (understandsGoingAway && connection.inFlight > 0) {
      writeMetadataPush(wire.bytes, goingAwayMetadata(reason))
      wire.flush()
    }
    this.#sayGoodbyeWhenIdle()
    return true
  }

  /** Whether the client understands the early announcement of `going-away.ts`. */
  get understandsGoingAway(): boolean {
    return this.#init.understandsGoingAway
  }

  get isDraining(): boolean {
    return this.#drainReason !== undefined
  }

  /** The connection has ended. */
  end(): void {
    this.#hasEnded = true
    const { admission } = this.#init.limits
    if (this.#leases !== undefined && admission !== undefined) admission.leaseHolders--
    this.#leases = undefined
  }

  /** Sends CONNECTION_CLOSE when nothing is in flight, because some libraries end open streams when they receive it. */
  #sayGoodbyeWhenIdle(): void {
    const { wire, connection } = this.#init
    if (this.#drainReason === undefined || this.#hasSaidGoodbye || this.#hasEnded) return
    if (connection.inFlight > 0) return
    this.#hasSaidGoodbye = true
    writeError(wire.bytes, 0, ErrorCode.CONNECTION_CLOSE, this.#drainReason)
    wire.flush()
  }

  #refusal(inFlight: number): string | undefined {
    const { maxInFlight, admission } = this.#init.limits
    if (this.#leases !== undefined) {
      if (!this.#leases.take()) return 'No lease covers the request'
      // The lease is granted after this request, which may run long. Without this grant, the client might wait for a
      // lease until another request ends.
      if (this.#leases.isUsedUp) this.#init.wire.output?.defer(() => this.#grant())
    } else if (inFlight >= maxInFlight)
      return `The connection has as many requests in flight as limits.inFlightPerConnection allows (${maxInFlight})`
    if (admission === undefined || admission.room > 0) return undefined
    // The request has used up the granted lease.
    this.#grant()
    return admission.refusal()
  }

  // ── leases ───────────────────────────────────────────────────────────────────────────────────────────

  /** "If the server accepts the SETUP frame, it MUST send a LEASE frame if it set the L flag." */
  #openLeases(): void {
    const { limits, timer } = this.#init
    const { maxInFlight, admission } = limits
    if (this.isOpen) return this.#sendLease(MAX_UINT31, MAX_UINT31)
    this.#leases = new LeaseGranter(
      { concurrency: maxInFlight, timeToLive: LEASE_TIME },
      () => timer.now(),
      (timeToLive, requests) => this.#sendLease(timeToLive, requests)
    )
    if (admission !== undefined) admission.leaseHolders++
    this.#grant()
  }

  /** Grants a lease for the present room. */
  #grant(): void {
    if (this.#leases === undefined || this.#drainReason !== undefined) return
    const { limits, timer, connection } = this.#init
    const room = limits.admission?.share ?? Number.POSITIVE_INFINITY
    this.#leases.grant(connection.inFlight, room)
    if (room === 0) this.#grantWhenFree()
    // A time in the past means that no lease was granted. Then a lease is granted when a request ends or the server has
    // room.
    const { renewAt } = this.#leases
    if (renewAt > timer.now()) timer.wakeAt(renewAt)
  }

  #grantWhenFree(): void {
    if (this.#waitsForRoom) return
    this.#waitsForRoom = true
    this.#init.limits.admission?.whenFree(() => {
      this.#waitsForRoom = false
      this.#grant()
    })
  }

  #sendLease(timeToLive: number, requests: number): void {
    const { wire } = this.#init
    writeLease(wire.bytes, timeToLive, requests)
    wire.flush()
  }
}

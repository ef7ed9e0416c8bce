/**
 * Which requests of one connection a server takes: those that its limits have room for, by leases where the client
 * waits for them, and none any more when it drains.
 */
import type { Timer } from '@elysia-microservices/transport/kit'
import type { SharedLimits } from '../limits/server-limits.ts'
import { ErrorCode, MAX_UINT31 } from './frame-type.ts'
import { writeError, writeLease, writeMetadataPush } from './frames.ts'
import { goingAwayMetadata } from './going-away.ts'
import { LeaseGranter } from './lease.ts'
import type { Wire } from './wire.ts'

/** Milliseconds a lease is good for. */
const LEASE_TIME = 30_000

/** What a gate needs of its connection. */
export interface ServerGateInit {
  readonly wire: Wire
  readonly timer: Timer
  readonly limits: SharedLimits
  /** The client waits for leases. */
  readonly wantsLeases: boolean
  /** The client understands the word of a server that is going away. */
  readonly understandsGoingAway: boolean
  /** Requests and events of the connection that have not ended. */
  inFlight(): number
}

/** Lets requests in. */
export class ServerGate {
  readonly #init: ServerGateInit
  #leases: LeaseGranter | undefined
  /** Nothing could be granted; waits for the server to have room. */
  #waitsForRoom = false
  /** Why the server drains; `undefined` while it does not. */
  #drainReason: string | undefined
  #hasSaidGoodbye = false
  #hasEnded = false

  constructor(init: ServerGateInit) {
    this.#init = init
  }

  /** The connection is set up: grants the first leases, if its client waits for any. */
  open(): void {
    if (this.#init.wantsLeases) this.#openLeases()
  }

  /** Why a request may not start now; `undefined` if it may. Counts it if it may. */
  refuse(inFlight: number): string | undefined {
    if (this.#drainReason !== undefined) return this.#drainReason
    const { limits } = this.#init
    const { maxInFlight, admission } = limits
    // Without any limit, and without leases, there is nothing to ask.
    if (this.#leases === undefined && admission === undefined && maxInFlight === Number.POSITIVE_INFINITY)
      return undefined
    const refusal = this.#refusal(inFlight)
    if (refusal !== undefined) limits.refused('requests', refusal)
    return refusal
  }

  /** A request has ended, or time has passed: grants leases, and says goodbye if the last one was waited for. */
  settled(): void {
    this.#grant()
    this.#sayGoodbyeWhenIdle()
  }

  /** The connection goes on with another socket: what was granted is forgotten, and granted anew. */
  restartLeases(): void {
    this.#leases?.restart()
    this.#grant()
  }

  /** Takes no new requests. True: the client, having been told, closes the connection itself. */
  drain(reason: string): boolean {
    if (this.#drainReason !== undefined) return true
    this.#drainReason = reason
    const { wire, understandsGoingAway, inFlight } = this.#init
    if (understandsGoingAway && inFlight() > 0) {
      writeMetadataPush(wire.bytes, goingAwayMetadata(reason))
      wire.flush()
    }
    this.#sayGoodbyeWhenIdle()
    return true
  }

  get isDraining(): boolean {
    return this.#drainReason !== undefined
  }

  /** The connection is over. */
  end(): void {
    this.#hasEnded = true
    const { admission } = this.#init.limits
    if (this.#leases !== undefined && admission !== undefined) admission.leaseHolders--
    this.#leases = undefined
  }

  /** CONNECTION_CLOSE comes last: some libraries take it for the end of streams that have not ended. */
  #sayGoodbyeWhenIdle(): void {
    const { wire, inFlight } = this.#init
    if (this.#drainReason === undefined || this.#hasSaidGoodbye || inFlight() > 0) return
    this.#hasSaidGoodbye = true
    writeError(wire.bytes, 0, ErrorCode.CONNECTION_CLOSE, this.#drainReason)
    wire.flush()
  }

  #refusal(inFlight: number): string | undefined {
    const { maxInFlight, admission } = this.#init.limits
    if (this.#leases !== undefined) {
      if (!this.#leases.take()) return 'No lease covers the request'
    } else if (inFlight >= maxInFlight)
      return `The connection has as many requests in flight as limits.inFlightPerConnection allows (${maxInFlight})`
    if (admission === undefined || admission.room > 0) return undefined
    // The request has used up what it was granted.
    this.#grant()
    return admission.refusal()
  }

  // ── leases ───────────────────────────────────────────────────────────────────────────────────────────

  /** "If the server accepts the SETUP frame, it MUST send a LEASE frame if it set the L flag." */
  #openLeases(): void {
    const { limits, timer } = this.#init
    const { maxInFlight, admission } = limits
    if (maxInFlight === Number.POSITIVE_INFINITY && admission === undefined)
      return this.#sendLease(MAX_UINT31, MAX_UINT31)
    this.#leases = new LeaseGranter(
      { concurrency: maxInFlight, timeToLive: LEASE_TIME },
      () => timer.now(),
      (timeToLive, requests) => this.#sendLease(timeToLive, requests)
    )
    if (admission !== undefined) admission.leaseHolders++
    this.#grant()
  }

  /** Grants what there is room for. */
  #grant(): void {
    if (this.#leases === undefined || this.#drainReason !== undefined || this.#hasEnded) return
    const { limits, timer, inFlight } = this.#init
    const room = limits.admission?.share ?? Number.POSITIVE_INFINITY
    this.#leases.grant(inFlight(), room)
    if (room === 0) this.#grantWhenFree()
    // In the past: nothing could be granted, and what ends or becomes free grants again.
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

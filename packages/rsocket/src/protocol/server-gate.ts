/**
 * Decides which requests of one connection a server accepts. It accepts requests as far as its limits have room, grants
 * leases to a client that waits for leases, and accepts no new request when it drains.
 */
import type { Timer } from '@elysia-microservices/transport/kit'
import type { SharedLimits } from '../limits/server-limits.ts'
import { ErrorCode, MAX_UINT31 } from './frame-type.ts'
import { writeError, writeKeepalive, writeLease, writeMetadataPush } from './frames.ts'
import { goingAwayMetadata } from './going-away.ts'
import { ANSWER_TIME, LeaseGranter } from './lease-granter.ts'
import type { Wire } from './wire.ts'

const NO_DATA = /* @__PURE__ */ new Uint8Array()

/** The parameters of a gate. */
export interface ServerGateInit {
  readonly wire: Wire
  readonly timer: Timer
  readonly limits: SharedLimits
  /** Whether the client waits for leases. */
  readonly wantsLeases: boolean
  /**
   * Whether the client is one of this library: it understands the early announcement of `going-away.ts`, and asks for
   * the leases that it needs.
   */
  readonly understandsGoingAway: boolean
  readonly connection: { /** Number of requests and events in flight. */ readonly inFlight: number }
}

/** Admits or refuses the requests of one connection. */
export class ServerGate {
  readonly #init: ServerGateInit
  /** Every request may start, and the end of a request changes nothing, so the gate need not be called. */
  isOpen: boolean
  #leases: LeaseGranter | undefined
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
    const refusal = this.#refusal(inFlight, isEvent)
    if (refusal !== undefined) limits.refused('requests', refusal)
    return refusal
  }

  /** A request has ended: grants a lease, and ends a draining connection that is idle. */
  settled(): void {
    this.#leases?.grant()
    this.#sayGoodbyeWhenIdle()
  }

  /** The timer has fired. */
  wake(now: number): void {
    this.#sayGoodbyeWhenIdle()
    if (this.#leases?.wake(now) === false)
      this.#init.wire.lose(
        new Error(
          `The client has not answered KEEPALIVE for ${ANSWER_TIME} ms after its lease was taken back`
        )
      )
  }

  /** The client has answered a KEEPALIVE. */
  answered(): void {
    this.#leases?.answered()
  }

  /** The client has asked for a lease. */
  leaseWanted(): void {
    this.#leases?.wanted()
  }

  /** The socket is lost, and the connection may continue over another one. */
  detach(): void {
    this.#leases?.detach()
  }

  /** The connection continues over another socket, to which the old LEASE may never have come. */
  resume(): void {
    if (this.#init.wantsLeases && this.isOpen) this.#sendLease(MAX_UINT31, MAX_UINT31)
    this.#leases?.resume()
  }

  /** Accepts no new requests. Returns true, because the client is told and closes the connection itself. */
  drain(reason: string): boolean {
    if (this.#drainReason !== undefined) return true
    this.#drainReason = reason
    this.isOpen = false
    this.#leases?.stop()
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
    this.#leases?.end()
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

  #refusal(inFlight: number, isEvent: boolean): string | undefined {
    const { maxInFlight, admission } = this.#init.limits
    if (this.#leases !== undefined) return this.#leasedRefusal(this.#leases, isEvent)
    if (inFlight >= maxInFlight)
      return `The connection has as many requests in flight as limits.inFlightPerConnection allows (${maxInFlight})`
    return admission?.refusal()
  }

  /** A lease has made room for the request. Only a turn without end refuses it, and no event, whose sender would not know. */
  #leasedRefusal(leases: LeaseGranter, isEvent: boolean): string | undefined {
    const { wire, limits } = this.#init
    if (!leases.take()) return 'No lease covers the request'
    // The lease is granted after this request, which may run long. Without this grant, the client might wait for a
    // lease until another request ends.
    if (leases.outstanding === 0) wire.output?.defer(() => leases.grant())
    return !isEvent && limits.admission?.isTurnOver === true ? limits.admission.refusal() : undefined
  }

  // ── leases ───────────────────────────────────────────────────────────────────────────────────────────

  /** "If the server accepts the SETUP frame, it MUST send a LEASE frame if it set the L flag." */
  #openLeases(): void {
    const { limits, timer, wire, connection, understandsGoingAway } = this.#init
    const { maxInFlight, admission } = limits
    if (this.isOpen) return this.#sendLease(MAX_UINT31, MAX_UINT31)
    this.#leases = new LeaseGranter({
      concurrency: maxInFlight,
      admission,
      clientAsks: understandsGoingAway,
      inFlight: () => connection.inFlight,
      now: () => timer.now(),
      wakeAt: (time) => timer.wakeAt(time),
      send: (timeToLive, requests) => this.#sendLease(timeToLive, requests),
      probe() {
        writeKeepalive(wire.bytes, true, wire.resumption?.received ?? 0, NO_DATA)
        wire.flush()
      }
    })
    this.#leases.grant()
  }

  #sendLease(timeToLive: number, requests: number): void {
    const { wire } = this.#init
    writeLease(wire.bytes, timeToLive, requests)
    wire.flush()
  }
}

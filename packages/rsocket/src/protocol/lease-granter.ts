/**
 * The leases that a server grants to one connection. A granted request is paid for: it is admitted whenever it arrives,
 * also when it is sent again after the connection was resumed. Therefore a lease is never replaced while requests may
 * still arrive under it. To give its room to others, it is taken back: LEASE with 0 requests, and a KEEPALIVE whose
 * answer arrives behind all requests that were sent under the lease. Protocol.md, "Lease Semantics".
 */
import type { Admission, LeaseHolder } from '../limits/admission.ts'

/**
 * Milliseconds for which a lease is valid. After half of it, an unused lease is taken back and granted again, so that it
 * never ends while a request is on its way.
 */
export const LEASE_TIME = 3_600_000
/** Milliseconds in which a client must answer the KEEPALIVE after its lease was taken back. */
export const ANSWER_TIME = 30_000
/**
 * Milliseconds until a client that cannot ask for a lease gets another one, after it has not used its last one. Doubled
 * each time, so that the leases of idle clients do not go round and round.
 */
const PAUSE = 1_000
const LONGEST_PAUSE = 32_000

/** The parameters of a granter. */
export interface LeaseGranterInit {
  /** Most requests of the connection that may be in flight. */
  readonly concurrency: number
  /** The room that all connections share; `undefined`: only the connection itself is limited. */
  readonly admission: Admission | undefined
  /** Whether the client asks for a lease when its calls wait for one, as clients of this library do. */
  readonly clientAsks: boolean
  /** Number of requests and events of the connection in flight. */
  inFlight(): number
  now(): number
  /** Asks for a call of `wake` at a time. */
  wakeAt(time: number): void
  /** Sends LEASE. */
  send(timeToLive: number, requests: number): void
  /** Sends a KEEPALIVE that the client must answer; `answered` is called then. */
  probe(): void
}

/** Grants leases to one connection. */
export class LeaseGranter implements LeaseHolder {
  readonly #init: LeaseGranterInit
  /** Number of granted requests that have not arrived. */
  #outstanding = 0
  /** Time after which an unused lease is taken back and granted again. */
  #renewAt = Number.POSITIVE_INFINITY
  /** Time until which the client must answer; `undefined`: the lease was not taken back. */
  #answerUntil: number | undefined
  /** The client waits for a lease, as far as is known. */
  #isWanted = true
  /** An unused lease was taken back, and the client has not asked for another one. */
  #isIdle = false
  /** No lease could be granted, and this granter waits in the queue for room. */
  #isWaiting = false
  #pause = PAUSE
  /** End of the pause of an idle client. */
  #pausesUntil = 0
  #isDetached = false
  #isOver = false

  constructor(init: LeaseGranterInit) {
    this.#init = init
    if (init.admission !== undefined) init.admission.leaseHolders++
  }

  /** Number of granted requests that have not arrived. */
  get outstanding(): number {
    return this.#outstanding
  }

  /** Counts a request that has arrived. Returns false if no lease covers it. */
  take(): boolean {
    if (this.#outstanding === 0) return false
    this.#isIdle = false
    this.#pause = PAUSE
    this.#promise(this.#outstanding - 1)
    return true
  }

  /** Grants a lease, if no granted request is outstanding and there is room. */
  grant(): void {
    const { admission } = this.#init
    // Those who wait in the queue come first.
    this.#grant(admission === undefined || admission.waiting === 0)
  }

  /** The client has asked for a lease. */
  wanted(): void {
    this.#isWanted = true
    this.#isIdle = false
    this.grant()
  }

  takeBack(): void {
    if (this.#outstanding === 0 || this.#answerUntil !== undefined || this.#isDetached) return
    const { send, probe, now, wakeAt } = this.#init
    this.#isIdle = true
    this.#answerUntil = now() + ANSWER_TIME
    send(LEASE_TIME, 0)
    probe()
    wakeAt(this.#answerUntil)
  }

  /** The client has answered a KEEPALIVE: all requests under a lease that was taken back have arrived. */
  answered(): void {
    if (this.#answerUntil === undefined) return
    const { now, wakeAt, clientAsks } = this.#init
    this.#answerUntil = undefined
    this.#promise(0)
    if (this.#isIdle && !clientAsks) {
      this.#pausesUntil = now() + this.#pause
      this.#pause = Math.min(this.#pause * 2, LONGEST_PAUSE)
      wakeAt(this.#pausesUntil)
    } else this.grant()
  }

  /**
   * The time has come that was asked for with `wakeAt`.
   * @returns false if the client owes an answer for too long; then the connection must end
   */
  wake(now: number): boolean {
    const { wakeAt, admission, clientAsks } = this.#init
    if (this.#answerUntil !== undefined && !this.#isDetached) {
      if (now >= this.#answerUntil) return false
      wakeAt(this.#answerUntil)
    } else if (this.#outstanding > 0) {
      if (now >= this.#renewAt) {
        this.takeBack()
        this.#isIdle = false
      } else wakeAt(this.#renewAt)
    } else if (this.#isIdle && !clientAsks && now < this.#pausesUntil) wakeAt(this.#pausesUntil)
    else {
      this.grant()
      // Not even an idle client is left without a lease for ever.
      if (this.#isIdle && this.#isWaiting) admission?.takeBack(1)
    }
    return true
  }

  /** The socket is lost. What was granted stays paid for, but its room is free for others in the meantime. */
  detach(): void {
    this.#isDetached = true
    this.#init.admission?.promise(this, 0)
  }

  /**
   * The connection continues over another socket. A LEASE may have been lost with the old one, and requests may be sent
   * again: a new lease is granted when all of them have arrived.
   */
  resume(): void {
    this.#isDetached = false
    this.#answerUntil = undefined
    this.#isWanted = true
    this.#promise(this.#outstanding)
    if (this.#outstanding > 0) this.takeBack()
    // RESUME asks for a lease, also from a client that was idle before.
    this.#isIdle = false
    this.grant()
  }

  /** Grants no more leases, because the server drains. Requests that were granted are still admitted. */
  stop(): void {
    this.#isOver = true
  }

  /** The connection has ended. */
  end(): void {
    this.#isOver = true
    this.#promise(0)
    const { admission } = this.#init
    if (admission !== undefined) admission.leaseHolders--
  }

  /** @param isNext whether nobody else waits for room, or it is this granter's turn */
  #grant(isNext: boolean): void {
    const { concurrency, admission, inFlight, now, wakeAt, send, clientAsks } = this.#init
    if (this.#isOver || this.#isDetached || this.#outstanding > 0 || this.#answerUntil !== undefined) return
    if (this.#isIdle && (clientAsks || now() < this.#pausesUntil)) return
    const own = concurrency - inFlight()
    // The end of a request calls `grant` again.
    if (own <= 0) return
    const share = admission?.share ?? Number.POSITIVE_INFINITY
    if (share === 0 || !isNext) return this.#wait()
    const requests = Math.min(own, share)
    this.#isWanted = false
    this.#renewAt = now() + LEASE_TIME / 2
    this.#promise(requests)
    send(LEASE_TIME, requests)
    wakeAt(this.#renewAt)
  }

  #wait(): void {
    const { admission, clientAsks } = this.#init
    if (this.#isWaiting || admission === undefined || (clientAsks && !this.#isWanted)) return
    this.#isWaiting = true
    admission.whenFree(() => {
      this.#isWaiting = false
      this.#grant(true)
    }, !this.#isIdle)
  }

  #promise(requests: number): void {
    this.#outstanding = requests
    this.#init.admission?.promise(this, requests)
  }
}

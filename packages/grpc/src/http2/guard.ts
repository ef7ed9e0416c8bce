/**
 * Ends connections whose peers cause work without use: streams that are cancelled at once (rapid reset), streams that must
 * be reset because of the peer's own errors, lists of fields far above the limits, floods of frames without content.
 */
import { Budget } from './budget.ts'
import { tooManyPings, tooMuch } from './error-code.ts'
import type { Http2Limits } from './limits.ts'

/** Milliseconds: a stream that has lived longer was not opened to be cancelled. */
const AT_ONCE = 100
const RESETS_PER_SECOND = 100
const IDLE_FRAMES_PER_SECOND = 1_000
const FOR_CONTENT = 4
/** PINGs that may come too early. grpc: doc/keepalive.md, "Server Enforcement". */
const EARLY_PINGS = 2

/** Watches one peer. Every method throws a `ConnectionFault` when the peer has passed a limit. */
export class Guard {
  readonly #limits: Http2Limits
  readonly #resets: Budget
  readonly #idle: Budget
  /** The time of the present chunk. */
  now: number
  /** The time of the last PING since content was sent to the peer, and how many have come too early. */
  #pingAt = Number.NEGATIVE_INFINITY
  #earlyPings = 0

  constructor(limits: Http2Limits, now: number) {
    this.#limits = limits
    this.now = now
    this.#resets = new Budget(limits.resets, RESETS_PER_SECOND, now)
    this.#idle = new Budget(limits.idleFrames, IDLE_FRAMES_PER_SECOND, now)
  }

  /** A frame with content has arrived. */
  content(): void {
    this.#idle.earn(FOR_CONTENT)
  }

  /** A frame with content was sent. */
  sent(): void {
    this.#idle.earn(FOR_CONTENT)
    this.answered()
  }

  /** Something was sent that the peer has waited for: its PINGs may come. */
  answered(): void {
    this.#pingAt = Number.NEGATIVE_INFINITY
    this.#earlyPings = 0
  }

  /** The peer asks for a sign of life. */
  ping(): void {
    const { pings } = this.#limits
    if (pings === 0) return
    if (this.now - this.#pingAt < pings && ++this.#earlyPings > EARLY_PINGS) throw tooManyPings(pings)
    this.#pingAt = this.now
  }

  /** A frame without content has arrived. @param cost how many frames it counts for */
  idleFrame(cost = 1): void {
    if (!this.#idle.spend(cost, this.now))
      throw tooMuch(`The peer sends more than ${this.#limits.idleFrames} frames without content`)
  }

  /** A stream has ended as it should. */
  completed(): void {
    this.#resets.earn(1)
  }

  /** The peer has cancelled a stream. @param openedAt the time at which the stream was opened */
  canceled(openedAt: number): void {
    if (this.now - openedAt < AT_ONCE) this.mistaken()
  }

  /**
   * Fields above the limits were read, whatever becomes of their stream: HPACK must read all of them, and names thousands
   * in a frame.
   * @param excess how often the limits fit into them
   */
  overlong(excess: number): void {
    if (!this.#resets.spend(excess, this.now))
      throw tooMuch('The peer sends fields far above the limits again and again')
  }

  /** A stream must be reset because of an error of the peer. */
  mistaken(): void {
    if (!this.#resets.spend(1, this.now))
      throw tooMuch(`More than ${this.#limits.resets} streams of the peer were reset`)
  }
}

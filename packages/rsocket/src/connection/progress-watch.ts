/**
 * Watches for messages that begin to arrive but never end: the sender may be gone, or may want to block a connection.
 */

import { STOOD_STILL } from '@elysia-microservices/transport/kit'
import { unref } from '../host.ts'

/** Characters or bytes of an incomplete message that count as progress. Single bytes now and then do not count. */
export const PROGRESS = 1024

/** The state of a watched connection. */
export interface WatchedState {
  /** Bytes that the peer has not read yet. If they become fewer, the peer is alive. */
  readonly unsent: number
  /** The message waits because of this side, and not because of its sender. */
  readonly isHeldBack: boolean
}

/** Watches one connection. The object is made when a message is incomplete for the first time. */
export class ProgressWatch {
  readonly #look: () => WatchedState | undefined
  readonly #stalled: () => void
  readonly #timeout: number
  #timer: ReturnType<typeof setTimeout> | undefined
  #progressAt = 0
  /** Number of characters or bytes since the last progress, plus 1; 0 while no message is incomplete. */
  #arrived = 0
  #unsentSeen = 0

  /**
   * @param timeout milliseconds without progress
   * @param look returns the state of the connection; `undefined` if no message is incomplete
   * @param stalled is called when there was no progress during the whole timeout
   */
  constructor(timeout: number, look: () => WatchedState | undefined, stalled: () => void) {
    this.#look = look
    this.#stalled = stalled
    this.#timeout = timeout
  }

  /** Characters or bytes have arrived, and a message is incomplete. */
  incomplete(arrived: number, unsent: number): void {
    const begins = this.#arrived === 0
    this.#arrived += arrived
    if (begins || this.#arrived > PROGRESS) {
      this.#progressAt = performance.now()
      this.#unsentSeen = unsent
      this.#arrived = 1
    }
    // The timer is not reset with every chunk. When it fires, it checks when the last progress was.
    this.#timer ??= unref(setTimeout(check, this.#timeout, this))
  }

  /** All messages that have begun are complete. */
  complete(): void {
    this.#arrived = 0
  }

  stop(): void {
    clearTimeout(this.#timer)
  }

  /**
   * Checks for progress. Called by the timer.
   * @param isRead the socket has had a turn after the process stood still
   */
  check(isRead?: boolean): void {
    this.#timer = undefined
    const state = this.#look()
    if (state === undefined) return
    const now = performance.now()
    if (state.unsent < this.#unsentSeen || state.isHeldBack) this.#progressAt = now
    this.#unsentSeen = state.unsent
    const left = Math.ceil(this.#progressAt + this.#timeout - now)
    // Chunks that arrived while the process stood still are read first.
    const isLate = !isRead && left < -STOOD_STILL
    if (left > 0 || isLate) this.#timer = unref(setTimeout(check, Math.max(0, left), this, isLate))
    else this.#stalled()
  }
}

// The timer passes its watch as an argument, so that each connection needs no closure of its own.
function check(watch: ProgressWatch, isRead?: boolean): void {
  watch.check(isRead)
}

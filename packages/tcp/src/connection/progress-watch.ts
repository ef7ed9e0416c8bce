/** Watches over messages that begin to arrive and do not end: their sender may be gone, or want to hold a connection. */

/** Characters or bytes of an incomplete message that are progress: a peer that sends one now and then makes none. */
export const PROGRESS = 1024

/** How the connection is that is watched. */
export interface WatchedState {
  /** Bytes the peer has not taken yet: one that reads is alive. */
  readonly unsent: number
  /** The message waits because of this side, not because of its sender. */
  readonly isHeldBack: boolean
}

/** The connection that is watched. */
export interface Watched {
  /** How it is; `undefined` if no message is incomplete. */
  look(): WatchedState | undefined
  /** There was no progress for the whole of the time allowed. */
  stalled(): void
}

/** One connection's watch; made when a message is incomplete for the first time. */
export class ProgressWatch {
  readonly #watched: Watched
  readonly #timeout: number
  #timer: ReturnType<typeof setTimeout> | undefined
  #progressAt = 0
  /** What has come since; 0 while no message is incomplete. */
  #arrived = 0
  #unsentSeen = 0

  /** @param timeout milliseconds without progress */
  constructor(timeout: number, watched: Watched) {
    this.#watched = watched
    this.#timeout = timeout
  }

  /** Some bytes or characters have come, and a message is incomplete. */
  incomplete(arrived: number, unsent: number): void {
    const begins = this.#arrived === 0
    this.#arrived += arrived
    if (begins || this.#arrived >= PROGRESS) {
      this.#progressAt = performance.now()
      this.#unsentSeen = unsent
      this.#arrived = 1
    }
    // The timer is not moved at every chunk: when it fires it looks how long ago there was progress.
    this.#timer ??= setTimeout(check, this.#timeout, this).unref()
  }

  /** All messages that have begun are complete. */
  complete(): void {
    this.#arrived = 0
  }

  stop(): void {
    clearTimeout(this.#timer)
  }

  /** Called by the timer. */
  check(): void {
    this.#timer = undefined
    const state = this.#watched.look()
    if (state === undefined) return
    const now = performance.now()
    if (state.unsent < this.#unsentSeen || state.isHeldBack) this.#progressAt = now
    this.#unsentSeen = state.unsent
    const left = Math.ceil(this.#progressAt + this.#timeout - now)
    if (left > 0) this.#timer = setTimeout(check, left, this).unref()
    else this.#watched.stalled()
  }
}

// The timer gets its watch as an argument: no closure for each.
function check(watch: ProgressWatch): void {
  watch.check()
}

/** The streams of one connection: those that are open, and what is remembered of those that are not. */
import type { Http2Stream } from './stream.ts'

/** How a stream was closed. */
export const Closed = {
  /** The stream is not remembered. */
  UNKNOWN: 0,
  /** Both sides have sent everything. */
  DONE: 1,
  RESET_BY_PEER: 2,
  /** Frames that the peer sent before it knew are ignored. */
  RESET_BY_US: 3
} as const

/** Number of streams of which is remembered that they are closed, a power of two. */
const REMEMBERED = 64
const MASK = REMEMBERED - 1
/** Most streams reset by this side that are remembered: the peer may still send frames for each. */
const MOST_RESETS = 1_000

/** The table of streams. */
export class Streams {
  readonly #open = new Map<number, Http2Stream>()
  /** The closed streams, each at a place that its id says. */
  readonly #closedIds = new Uint32Array(REMEMBERED)
  readonly #closedHow = new Uint8Array(REMEMBERED)
  /** The streams that this side has reset, oldest first. Made for the first one. */
  #resets: Set<number> | undefined
  /** The number of open streams that the peer has opened. */
  ofPeer = 0
  /** The last stream that the peer has opened. */
  lastOfPeer = 0
  /** The last stream of the peer that was not ignored: GOAWAY names it. */
  lastHandled = 0
  /** The id of the next stream of this side, which is odd for a client. */
  next = 1

  /** The number of open streams. */
  get size(): number {
    return this.#open.size
  }

  /** The number of open streams that this side has opened. */
  get ofUs(): number {
    return this.#open.size - this.ofPeer
  }

  /** A copy of the list of open streams. */
  get all(): Http2Stream[] {
    return [...this.#open.values()]
  }

  get(id: number): Http2Stream | undefined {
    return this.#open.get(id)
  }

  add(stream: Http2Stream, isOfPeer: boolean): void {
    this.#open.set(stream.id, stream)
    if (isOfPeer) this.ofPeer++
  }

  /** Removes a stream, and remembers how it was closed. */
  remove(id: number, how: number, isOfPeer: boolean): void {
    if (!this.#open.delete(id)) return
    if (isOfPeer) this.ofPeer--
    this.remember(id, how)
  }

  /** Remembers how a stream was closed, also one that was refused and never opened. */
  remember(id: number, how: number): void {
    if (how === Closed.RESET_BY_US) {
      this.#resets ??= new Set()
      this.#resets.add(id)
      if (this.#resets.size > MOST_RESETS)
        for (const oldest of this.#resets) {
          this.#resets.delete(oldest)
          break
        }
      return
    }
    const at = (id >>> 1) & MASK
    this.#closedIds[at] = id
    this.#closedHow[at] = how
  }

  /** How a stream was closed that is not open and not idle. */
  howClosed(id: number): number {
    if (this.#resets?.has(id)) return Closed.RESET_BY_US
    const at = (id >>> 1) & MASK
    return this.#closedIds[at] === id ? (this.#closedHow[at] as number) : Closed.UNKNOWN
  }

  /** Whether a stream was never opened. @param isOfPeer whether its id is one of the peer's */
  isIdle(id: number, isOfPeer: boolean): boolean {
    return isOfPeer ? id > this.lastOfPeer : id >= this.next
  }
}

/**
 * A window of what the peer may send: a stream's or the connection's. It moves when bytes are consumed, so that a peer is
 * as fast as its reader. RFC 9113, section 5.2.
 */

/** One window. */
export class ReceiveWindow {
  readonly #size: number
  /** Bytes that the peer may still send. */
  #left: number
  /** Bytes that were consumed, and that the peer does not know about yet. */
  #consumed = 0

  /**
   * @param size most bytes that are sent and not yet consumed
   * @param left bytes that the peer may send before it hears of the size
   */
  constructor(size: number, left = size) {
    this.#size = size
    this.#left = left
    this.#consumed = size - left
  }

  /** Bytes have arrived. Returns false if they are more than the window allows. */
  take(bytes: number): boolean {
    this.#left -= bytes
    return this.#left >= 0
  }

  /** Bytes were consumed. Returns the increment to tell the peer, or 0: small ones wait, as each one costs a frame. */
  consume(bytes: number): number {
    this.#consumed += bytes
    return this.#consumed * 2 >= this.#size ? this.open() : 0
  }

  /** Opens the window as far as its size allows. Returns the increment to tell the peer, perhaps 0. */
  open(): number {
    const increment = this.#consumed
    this.#consumed = 0
    this.#left += increment
    return increment
  }
}

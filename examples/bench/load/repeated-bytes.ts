/** Sends the same bytes repeatedly: every write is a slice of one buffer, so nothing is copied or encoded. */
import type { LoadSocket } from './socket.ts'

export class RepeatedBytes {
  readonly #bytes: Uint8Array
  readonly #lap: number
  /** The position of the next byte, and how many bytes are to be sent. */
  #offset = 0
  #owed = 0

  /** @param twice the bytes to repeat, twice in a row, so that any run of up to their length is one slice */
  constructor(twice: Uint8Array) {
    this.#bytes = twice
    this.#lap = twice.length / 2
  }

  owe(bytes: number): void {
    this.#owed += bytes
  }

  /** Writes as many of the due bytes as the socket accepts; to be called again when the socket accepts more. */
  flush(socket: LoadSocket): void {
    while (this.#owed > 0) {
      const written = socket.write(this.#bytes, this.#offset, Math.min(this.#owed, this.#lap))
      if (written <= 0) return
      this.#offset = (this.#offset + written) % this.#lap
      this.#owed -= written
    }
  }
}

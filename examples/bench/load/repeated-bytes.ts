/** Sends the same bytes over and over: whatever is owed is a slice of one buffer, nothing is copied or encoded. */
import type { LoadSocket } from './socket.ts'

export class RepeatedBytes {
  readonly #bytes: Uint8Array
  readonly #lap: number
  /** Where the next byte is, and how many bytes from there may be sent now. */
  #offset = 0
  #owed = 0

  /** @param twice what is repeated, twice: so any run of up to its length is one slice */
  constructor(twice: Uint8Array) {
    this.#bytes = twice
    this.#lap = twice.length / 2
  }

  owe(bytes: number): void {
    this.#owed += bytes
  }

  /** Writes what is owed as far as the socket takes it; call again when it takes more. */
  flush(socket: LoadSocket): void {
    while (this.#owed > 0) {
      const written = socket.write(this.#bytes, this.#offset, Math.min(this.#owed, this.#lap))
      if (written <= 0) return
      this.#offset = (this.#offset + written) % this.#lap
      this.#owed -= written
    }
  }
}

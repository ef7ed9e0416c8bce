/**
 * Stores bytes until they are needed. Small pieces share a buffer: a separate buffer costs some 150 bytes for each
 * piece, so a peer that sends single bytes would use a hundred times the memory that a limit in bytes allows.
 */

/** Largest shared buffer, in bytes. A piece of half this size or more gets a buffer of its own. */
const SHARED_SIZE = 8 * 1024

/** A list of bytes, in order. `add` copies the bytes. */
export class ByteList {
  #chunks: Uint8Array[] = []
  /** The buffer to which small pieces are added; not yet one of the chunks. */
  #shared: Uint8Array | undefined
  #filled = 0
  #length = 0

  /** Number of bytes in the list. */
  get length(): number {
    return this.#length
  }

  /** Adds a copy of bytes at the end. */
  add(bytes: Uint8Array): void {
    const { length } = bytes
    if (length === 0) return
    if (length >= SHARED_SIZE / 2) {
      this.#closeShared()
      this.#chunks.push(new Uint8Array(bytes))
    } else {
      if (this.#shared === undefined || this.#filled + length > this.#shared.length) {
        this.#closeShared()
        // The size doubles from a small start, because most lists hold one piece only.
        this.#shared = new Uint8Array(Math.min(SHARED_SIZE, Math.max(length, this.#length)))
      }
      this.#shared.set(bytes, this.#filled)
      this.#filled += length
    }
    this.#length += length
  }

  /** Removes and returns the oldest chunk; `undefined` if there is none. */
  shift(): Uint8Array | undefined {
    if (this.#chunks.length === 0) this.#closeShared()
    const chunk = this.#chunks.shift()
    this.#length -= chunk?.length ?? 0
    return chunk
  }

  /** Removes and returns all chunks. */
  take(): Uint8Array[] {
    this.#closeShared()
    const chunks = this.#chunks
    this.#chunks = []
    this.#length = 0
    return chunks
  }

  #closeShared(): void {
    if (this.#shared !== undefined) this.#chunks.push(this.#shared.subarray(0, this.#filled))
    this.#shared = undefined
    this.#filled = 0
  }
}

/**
 * Bytes that are kept until they are wanted. Small pieces share a buffer: one of its own costs some 150 bytes, so a
 * peer that sends byte by byte would have a limit of bytes exceeded a hundred times over.
 */

/** Buffers that pieces share grow up to this size; what has half of it has a buffer of its own. */
const SHARED_SIZE = 8 * 1024

/** A list of bytes, in order. What is added is copied. */
export class ByteList {
  #chunks: Uint8Array[] = []
  /** Takes the next small pieces; not among the chunks yet. */
  #shared: Uint8Array | undefined
  #filled = 0
  #length = 0

  /** Bytes in it. */
  get length(): number {
    return this.#length
  }

  add(bytes: Uint8Array): void {
    const { length } = bytes
    if (length === 0) return
    if (length >= SHARED_SIZE / 2) {
      this.#closeShared()
      this.#chunks.push(new Uint8Array(bytes))
    } else {
      if (this.#shared === undefined || this.#filled + length > this.#shared.length) {
        this.#closeShared()
        // It doubles: most lists end with their first piece.
        this.#shared = new Uint8Array(Math.min(SHARED_SIZE, Math.max(length, this.#length)))
      }
      this.#shared.set(bytes, this.#filled)
      this.#filled += length
    }
    this.#length += length
  }

  /** Takes the oldest chunk out; `undefined` if there is none. */
  shift(): Uint8Array | undefined {
    if (this.#chunks.length === 0) this.#closeShared()
    const chunk = this.#chunks.shift()
    this.#length -= chunk?.length ?? 0
    return chunk
  }

  /** All of it in chunks; the list is empty afterwards. */
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

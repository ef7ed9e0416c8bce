/** Encoded values of an Observable, which cannot be slowed, until there is demand for them. */
import { ByteWriter } from './bytes/byte-writer.ts'

/** Bytes of a chunk, beyond which the next value begins another. */
const CHUNK_SIZE = 64 * 1024

/** Values one behind the other in one buffer, so that many are copied at once. */
interface Chunk {
  readonly bytes: ByteWriter
  /** Where each value ends. */
  readonly ends: number[]
  /** Bytes of the data of all values up to each. */
  readonly sizes: number[]
  /** How many of them are taken. */
  taken: number
}

/** Some of the values, in their order. */
export interface HeldRun {
  readonly count: number
  /** Bytes of their data alone. */
  readonly size: number
  /** Stays as it is: nothing else is ever written there. */
  readonly bytes: Uint8Array
}

/** A queue of encoded values. */
export class HeldValues {
  readonly #chunks: Chunk[] = []
  #size = 0

  /** Bytes of all values. */
  get size(): number {
    return this.#size
  }

  get isEmpty(): boolean {
    return this.#chunks.length === 0
  }

  /**
   * Adds a value.
   * @param write writes it behind what is there, and runs no code of users; if it throws, what it has written is left
   * out
   * @param size bytes of its data alone. Default: not of interest
   */
  add(write: (out: ByteWriter) => void, size = 0): void {
    let chunk = this.#chunks.at(-1)
    if (chunk === undefined || chunk.bytes.length >= CHUNK_SIZE)
      chunk = { bytes: new ByteWriter(), ends: [], sizes: [], taken: 0 }
    const { bytes, ends, sizes } = chunk
    const start = bytes.length
    try {
      write(bytes)
    } catch (error) {
      bytes.rewind(start)
      throw error
    }
    ends.push(bytes.length)
    sizes.push((sizes.at(-1) ?? 0) + size)
    this.#size += bytes.length - start
    if (ends.length === 1) this.#chunks.push(chunk)
  }

  /** Takes the oldest values, up to `most`; fewer at the end of a chunk. There must be one. */
  take(most: number): HeldRun {
    const chunk = this.#chunks[0] as Chunk
    const { bytes, ends, sizes, taken } = chunk
    const next = Math.min(taken + most, ends.length)
    const run = {
      count: next - taken,
      size: (sizes[next - 1] as number) - (sizes[taken - 1] ?? 0),
      bytes: bytes.written.subarray(taken === 0 ? 0 : ends[taken - 1], ends[next - 1])
    }
    chunk.taken = next
    if (next === ends.length) this.#chunks.shift()
    this.#size -= run.bytes.length
    return run
  }
}

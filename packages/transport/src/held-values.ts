/** Holds encoded values of an Observable until there is demand for them, because an Observable cannot be slowed. */
import { ByteWriter } from './bytes/byte-writer.ts'

/** Bytes of a chunk beyond which the next value begins a new chunk. */
const CHUNK_SIZE = 64 * 1024
/** Bytes for which an empty value counts, because it needs memory too. */
export const EMPTY_SIZE = 16

/** A buffer with several values, so that many can be copied at once. */
interface Chunk {
  readonly bytes: ByteWriter
  /** The end position of each value. */
  readonly ends: number[]
  /** For each value, the bytes of its data and of the data of all values before it. */
  readonly sizes: number[]
  /** Number of values that were taken. */
  taken: number
}

/** Several values in order. */
export interface HeldRun {
  readonly count: number
  /** Bytes of the values' data alone. */
  readonly size: number
  /** The bytes of the values. They never change, because nothing else is written there. */
  readonly bytes: Uint8Array
}

/** A queue of encoded values. */
export class HeldValues {
  readonly #chunks: Chunk[] = []
  #size = 0
  #empty = 0

  /** Bytes of all values, as they count for a limit. */
  get size(): number {
    return this.#size + this.#empty * EMPTY_SIZE
  }

  get isEmpty(): boolean {
    return this.#chunks.length === 0
  }

  /**
   * Adds a value.
   * @param write appends the value to the buffer, and runs no code of the user; if it throws, the bytes that it has
   * written are removed
   * @param size bytes of the value's data alone. Default: not counted
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
    if (bytes.length === start) this.#empty++
    if (ends.length === 1) this.#chunks.push(chunk)
  }

  /** Takes the oldest values, at most `most`; fewer at the end of a chunk. There must be at least one value. */
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
    for (let at = taken; at < next && this.#empty > 0; at++)
      if (ends[at] === (at === 0 ? 0 : ends[at - 1])) this.#empty--
    return run
  }
}

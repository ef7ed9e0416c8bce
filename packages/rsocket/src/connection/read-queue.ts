/**
 * Gathers chunks of many connections in a turn of the event loop: several are read, then all of them are handled, then
 * all are written (`flush-queue.ts`). Reading, handling and writing each fill the processor's instruction cache, so
 * doing all three for one connection after the other costs more than the work itself (docs/performance.md, "Many
 * connections"). If few chunks come in a turn, or handling takes long, gathering would only delay them and is off.
 */
import { afterMicrotasks, nextTurn } from '../host.ts'

/** Handles the chunks of one connection. */
export interface Reader {
  /** Handles a chunk. */
  read(chunk: Uint8Array): void
}

/** The functions that the queue needs from its process. */
export interface ReadQueueHost {
  /** Calls the task when the runtime has read everything for this turn. */
  later(task: () => void): void
  /** Calls the task behind the waiting microtasks, when callers have reacted to what was handled. */
  afterwards(task: () => void): void
  /** Milliseconds, of a clock that never goes back. */
  now(): number
  /** A reader has thrown. */
  failed(error: unknown): void
}

/** Maximum chunks per batch. Larger batches gain little and delay the first answer. */
const MAX_BATCH = 32
/** Milliseconds that a batch may take, callers' reactions included, because its first answer waits for the last. */
const BUDGET = 1
/** A chunk of this many bytes is handled at once: it is enough work by itself, and kept bytes must stay few. */
const LARGE_CHUNK = 16 * 1024
/** Chunks in a turn, each from another connection than the one before, from which gathering pays. */
const MIN_BATCH = 4
/** Gathering ends after this many turns in a row with fewer chunks. */
const PATIENCE = 16
/** Chunks between two attempts to gather. The number doubles each time gathering does not pay. */
const FIRST_PAUSE = 16
const LONGEST_PAUSE = 1024

/**
 * The treatment of the next chunk. `direct`: it is handled at once. After a number of chunks the queue waits for the
 * end of the turn (`waiting`) and counts in the next turn how many connections have chunks (`looking`), still handling
 * them at once. `gathering`: the chunk is kept and handled together with others.
 */
type State = 'direct' | 'waiting' | 'looking' | 'gathering'

/** Gives chunks to their readers, at once or many together. */
export class ReadQueue {
  readonly #host: ReadQueueHost
  #state: State = 'direct'
  /** Kept chunks, and their readers at the same index. */
  #readers: Reader[] = []
  #chunks: Uint8Array[] = []
  /** Empty lists for the next batch. */
  #spareReaders: Reader[] = []
  #spareChunks: Uint8Array[] = []
  /** Whether a batch is being handled, whose answers should be written together. Only the queue sets it. */
  isHandling = false
  /** Size of a batch: small at first, until it is known how long a batch takes. */
  #limit = MIN_BATCH
  #batchAt = 0
  #batchSize = 0
  /** The end of this turn was asked for. */
  #asked = false
  /** Chunks of this turn that came from another connection than the one before. */
  #changes = 0
  #last: Reader | undefined
  #smallTurns = 0
  #pause = FIRST_PAUSE
  /** Chunks until the next look. */
  #left = FIRST_PAUSE

  constructor(host: ReadQueueHost) {
    this.#host = host
  }

  /** A chunk was read. The queue keeps it until it is handled. */
  add(reader: Reader, chunk: Uint8Array): void {
    if (this.#state === 'gathering') return this.#gather(reader, chunk)
    if (this.#state === 'looking') this.#count(reader)
    else if (this.#state === 'direct' && --this.#left <= 0) {
      this.#state = 'waiting'
      this.#askEnd()
    }
    // Chunks kept before gathering ended come first.
    if (this.#readers.length > 0) this.settle()
    reader.read(chunk)
  }

  /**
   * Handles all kept chunks now. `Session` calls it before it judges or ends a connection by what has come; no code
   * outside this folder needs to. Never throws.
   */
  settle(): void {
    // A reader may call this again by closing its connection. Chunks added meanwhile wait for the end of the turn.
    if (this.isHandling || this.#readers.length === 0) return
    const readers = this.#readers
    const chunks = this.#chunks
    this.#readers = this.#spareReaders
    this.#chunks = this.#spareChunks
    this.#batchAt = this.#host.now()
    this.#batchSize = readers.length
    this.isHandling = true
    for (let index = 0; index < readers.length; index++) {
      try {
        ;(readers[index] as Reader).read(chunks[index] as Uint8Array)
      } catch (error) {
        this.#host.failed(error)
      }
    }
    this.isHandling = false
    readers.length = 0
    chunks.length = 0
    this.#spareReaders = readers
    this.#spareChunks = chunks
    this.#host.afterwards(this.#measure)
  }

  #gather(reader: Reader, chunk: Uint8Array): void {
    this.#count(reader)
    if (chunk.length >= LARGE_CHUNK && !this.isHandling) {
      // Earlier chunks, perhaps of the same connection, come first.
      this.settle()
      return reader.read(chunk)
    }
    this.#chunks.push(chunk)
    if (this.#readers.push(reader) >= this.#limit) this.settle()
  }

  #count(reader: Reader): void {
    this.#askEnd()
    if (reader === this.#last) return
    this.#last = reader
    this.#changes++
  }

  #askEnd(): void {
    if (this.#asked) return
    this.#asked = true
    this.#host.later(this.#endTurn)
  }

  readonly #endTurn = (): void => {
    this.#asked = false
    const worthIt = this.#changes >= MIN_BATCH
    this.#changes = 0
    this.#last = undefined
    this.settle()
    if (this.#state === 'waiting') this.#state = 'looking'
    else if (this.#state === 'looking') {
      if (worthIt) this.#begin()
      else this.#stop()
    } else if (this.#state === 'gathering') {
      this.#smallTurns = worthIt ? 0 : this.#smallTurns + 1
      if (this.#smallTurns >= PATIENCE) this.#stop()
    }
  }

  /** Finds out how many chunks can be handled within the budget. */
  readonly #measure = (): void => {
    const elapsed = this.#host.now() - this.#batchAt
    const affordable = elapsed > 0 ? Math.floor((BUDGET * this.#batchSize) / elapsed) : MAX_BATCH
    if (affordable < MIN_BATCH) return this.#stop()
    this.#limit = Math.min(affordable, this.#limit * 2, MAX_BATCH)
    this.#pause = FIRST_PAUSE
  }

  #begin(): void {
    this.#state = 'gathering'
    this.#smallTurns = 0
    this.#limit = MIN_BATCH
  }

  #stop(): void {
    this.#state = 'direct'
    this.#left = this.#pause
    this.#pause = Math.min(this.#pause * 2, LONGEST_PAUSE)
  }
}

/** The queue of all connections of this process. Immediates run when the runtime has read everything for a turn. */
export const readQueue = /* @__PURE__ */ new ReadQueue({
  later: nextTurn,
  afterwards: afterMicrotasks,
  now: () => performance.now(),
  failed(error) {
    // Perhaps a logger threw. The error must not be lost, so it becomes an uncaught exception.
    afterMicrotasks(() => {
      throw error
    })
  }
})

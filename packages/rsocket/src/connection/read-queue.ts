/**
 * Gathers the chunks that many connections receive in one turn of the event loop: several chunks are read, then all of
 * them are handled, then all output is written (`flush-queue.ts`). Reading, handling and writing each fill the
 * processor's instruction cache, so to do all three for one connection after the other costs more than the work itself
 * (docs/performance.md, "Many connections"). If few chunks arrive in a turn, or handling takes long, gathering would
 * only delay the chunks and is off.
 */
import { nextTurn } from '@elysia-microservices/transport/kit'
import { afterMicrotasks } from '../host.ts'

/** Handles the chunks of one connection. */
export interface Reader {
  /** Handles a chunk. */
  read(chunk: Uint8Array): void
}

/** The functions of the process that the queue needs. */
export interface ReadQueueHost {
  /** Calls the task when the runtime has read all input of this turn. */
  later(task: () => void): void
  /** Calls the task after the waiting microtasks, when callers have reacted to the handled chunks. */
  afterwards(task: () => void): void
  /** Milliseconds, of a clock that never goes back. */
  now(): number
  /** A reader has thrown. */
  failed(error: unknown): void
}

/** Most chunks per batch. Larger batches gain little and delay the first answer. */
const MAX_BATCH = 32
/**
 * Most milliseconds for a batch, reactions of callers included, because the first answer of a batch waits for the last.
 */
const BUDGET = 1
/** A chunk of this many bytes is handled at once, because it is enough work by itself and few bytes should wait. */
const LARGE_CHUNK = 16 * 1024
/** Number of chunks in a turn, each from another connection than the chunk before, from which gathering pays off. */
const MIN_BATCH = 4
/** Gathering ends after this many turns in a row with fewer chunks. */
const PATIENCE = 16
/** Number of chunks between two attempts to gather. The number doubles each time gathering does not pay off. */
const FIRST_PAUSE = 16
const LONGEST_PAUSE = 1024

/**
 * The treatment of the next chunk. `direct`: the chunk is handled at once. After a number of chunks the queue waits for
 * the end of the turn (`waiting`). In the next turn it counts how many connections have chunks (`looking`), which are
 * still handled at once. `gathering`: the chunk waits and is handled together with others.
 */
type State = 'direct' | 'waiting' | 'looking' | 'gathering'

/** Passes chunks to their readers, at once or many together. */
export class ReadQueue {
  readonly #host: ReadQueueHost
  #state: State = 'direct'
  /** Waiting chunks, and their readers at the same index. */
  #readers: Reader[] = []
  #chunks: Uint8Array[] = []
  /** Empty lists that the next batch uses. */
  #spareReaders: Reader[] = []
  #spareChunks: Uint8Array[] = []
  /** Whether a batch is being handled: its answers should be written together. Only the queue sets this field. */
  isHandling = false
  /** Size of a batch: small at first, until the duration of a batch is known. */
  #limit = MIN_BATCH
  #batchAt = 0
  #batchSize = 0
  /** Whether the end of this turn was asked for. */
  #asked = false
  /** Number of chunks in this turn that came from another connection than the chunk before. */
  #changes = 0
  #last: Reader | undefined
  #smallTurns = 0
  #pause = FIRST_PAUSE
  /** Number of chunks until the next attempt to gather. */
  #left = FIRST_PAUSE

  constructor(host: ReadQueueHost) {
    this.#host = host
  }

  /** Handles a chunk that was read, or lets it wait. */
  add(reader: Reader, chunk: Uint8Array): void {
    if (this.#state === 'gathering') return this.#gather(reader, chunk)
    if (this.#state === 'looking') this.#count(reader)
    else if (this.#state === 'direct' && --this.#left <= 0) {
      this.#state = 'waiting'
      this.#askEnd()
    }
    // Chunks that still wait since gathering ended are handled first.
    if (this.#readers.length > 0) this.settle()
    reader.read(chunk)
  }

  /**
   * Handles all waiting chunks now. `Session` calls it before it checks or ends a connection; no code outside this
   * folder needs it. Never throws.
   */
  settle(): void {
    // A reader may call `settle` again by closing its connection. Chunks added meanwhile wait for the end of the turn.
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
      // Earlier chunks, perhaps of the same connection, are handled first.
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

  /** Measures how many chunks can be handled within the budget. */
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

  /** Forgets what waits, and what was measured: for tests that live the same twice. */
  reset(): void {
    this.#state = 'direct'
    this.#readers.length = 0
    this.#chunks.length = 0
    this.isHandling = false
    this.#limit = MIN_BATCH
    this.#asked = false
    this.#changes = 0
    this.#last = undefined
    this.#smallTurns = 0
    this.#pause = FIRST_PAUSE
    this.#left = FIRST_PAUSE
  }

  #stop(): void {
    this.#state = 'direct'
    this.#left = this.#pause
    this.#pause = Math.min(this.#pause * 2, LONGEST_PAUSE)
  }
}

/** The queue of all connections of this process. Immediates run when the runtime has read all input of a turn. */
export const readQueue = /* @__PURE__ */ new ReadQueue({
  later: nextTurn,
  afterwards: afterMicrotasks,
  now: () => performance.now(),
  failed(error) {
    // A logger may have thrown. The error becomes an uncaught exception, because it must not be lost.
    afterMicrotasks(() => {
      throw error
    })
  }
})

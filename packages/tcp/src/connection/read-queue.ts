/**
 * Connections that have something to read in the same turn of the event loop. Some of them are read, then all of these
 * are handled, then they are written to (`flush-queue.ts`). Reading, handling and writing each fill the processor's
 * instruction cache; going through all three for one connection after the other costs more than the work itself
 * (docs/performance.md, "Many connections"). Where little comes in a turn, or handling takes long, nothing is gathered,
 * because that would only delay it.
 */

/** What handles what was read. */
export interface Reader {
  /** Handles a chunk. */
  read(chunk: Uint8Array): void
}

/** What the queue needs of its process. */
export interface ReadQueueHost {
  /** Calls the task when all that can be read in this turn has been read. */
  later(task: () => void): void
  /** Calls the task behind the microtasks that wait: what was handled has had its first effects. */
  afterwards(task: () => void): void
  /** Milliseconds, of a clock that never goes back. */
  now(): number
  /** A reader has thrown. */
  failed(error: unknown): void
}

/** Maximum chunks per batch. Larger batches gain little and delay the first answer. */
const MAX_BATCH = 32
/** Milliseconds that handling a batch may take, including callers that go on: the first answer waits for the last. */
const BUDGET = 1
/** Bytes of a chunk that is handled at once: it is work enough by itself, and what waits must be bounded. */
const LARGE_CHUNK = 16 * 1024
/** Chunks of a turn, each of another connection than the one before, that are worth it. */
const MIN_BATCH = 4
/** Turns in a row with fewer chunks after which gathering ends. */
const PATIENCE = 16
/** Chunks between two attempts to gather: the number doubles each time that it is not worth it. */
const FIRST_PAUSE = 16
const LONGEST_PAUSE = 1024

/**
 * What happens to a chunk. `direct`: it is handled at once, until some number of chunks has come; then the queue waits
 * for the end of the turn (`waiting`), and counts in the next turn how many connections have chunks (`looking`).
 * `gathering`: it is kept, to be handled with others.
 */
type State = 'direct' | 'waiting' | 'looking' | 'gathering'

/** Hands chunks to their readers: at once, or many together. */
export class ReadQueue {
  readonly #host: ReadQueueHost
  #state: State = 'direct'
  /** What is to be handled: readers and their chunks, by index. */
  #readers: Reader[] = []
  #chunks: Uint8Array[] = []
  /** Empty lists, to be used next time. */
  #spareReaders: Reader[] = []
  #spareChunks: Uint8Array[] = []
  #handling = false
  /** How many are handled together: few at first, until it is known how long they take. */
  #limit = MIN_BATCH
  #batchAt = 0
  #batchSize = 0
  /** The end of this turn has been asked for. */
  #asked = false
  /** Of the chunks of this turn, those that came from another connection than the one before. */
  #changes = 0
  #last: Reader | undefined
  #smallTurns = 0
  #pause = FIRST_PAUSE
  /** Chunks until the next look. */
  #left = FIRST_PAUSE

  constructor(host: ReadQueueHost) {
    this.#host = host
  }

  /** Several connections are being handled, one after the other: what they write should leave together. */
  get isHandling(): boolean {
    return this.#handling
  }

  /** Something was read. The queue keeps the chunk until it is handled. */
  add(reader: Reader, chunk: Uint8Array): void {
    if (this.#state === 'gathering') return this.#gather(reader, chunk)
    if (this.#state === 'looking') this.#count(reader)
    else if (this.#state === 'direct' && --this.#left <= 0) {
      this.#state = 'waiting'
      this.#askEnd()
    }
    // What was kept until the gathering ended comes first.
    this.settle()
    reader.read(chunk)
  }

  /**
   * Handles what has been read. `Session` calls it before it judges a connection by what has come, or ends it; nobody
   * outside this folder needs to. Throws nothing.
   */
  settle(): void {
    // A reader may come back here, by closing its connection; what is added meanwhile is for the end of the turn.
    if (this.#handling || this.#readers.length === 0) return
    const readers = this.#readers
    const chunks = this.#chunks
    this.#readers = this.#spareReaders
    this.#chunks = this.#spareChunks
    this.#batchAt = this.#host.now()
    this.#batchSize = readers.length
    this.#handling = true
    for (let index = 0; index < readers.length; index++) {
      try {
        ;(readers[index] as Reader).read(chunks[index] as Uint8Array)
      } catch (error) {
        this.#host.failed(error)
      }
    }
    this.#handling = false
    readers.length = 0
    chunks.length = 0
    this.#spareReaders = readers
    this.#spareChunks = chunks
    this.#host.afterwards(this.#measure)
  }

  #gather(reader: Reader, chunk: Uint8Array): void {
    this.#count(reader)
    if (chunk.length >= LARGE_CHUNK && !this.#handling) {
      // Behind what has come before it, of the same connection perhaps.
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

  /** Finds out how many can be handled within the budget. */
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

// Taken now: tests that replace timers would keep what was read.
const immediately = setImmediate

/** The queue shared by all connections of this process. Immediates run when the runtime has read what there was. */
export const readQueue = new ReadQueue({
  later: (task) => void immediately(task),
  afterwards: queueMicrotask,
  now: () => performance.now(),
  failed(error) {
    // A logger has thrown, perhaps: nobody here can know, and it must not be lost.
    queueMicrotask(() => {
      throw error
    })
  }
})

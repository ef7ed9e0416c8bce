/** The partitions that one durable handler has in one process, and how far each is done. */
import type { Committed, Partition } from '../connection/group.ts'
import { Tracker } from './tracker.ts'

/** Milliseconds until what is done is committed: a process that is killed has it run again elsewhere. */
const COMMIT_AFTER = 50

/** A partition that events have come from. */
export class Source {
  readonly topic: string
  readonly partition: number
  /** The topic of the pattern: another one, if events here are on their way again. */
  readonly pattern: string
  readonly tracker: Tracker
  /** Where it ends, as far as is known. */
  limit = 0
  /** False once another process has it, or its topic was recreated. */
  isOurs = true

  constructor(pattern: string, { topic, partition, next, metadata }: Committed) {
    this.pattern = pattern
    this.topic = topic
    this.partition = partition
    this.tracker = new Tracker(Number(next), metadata)
  }
}

/** The settings of a handler's partitions, and the calls they make. */
export interface PartitionsOptions {
  readonly pattern: string
  /** Whether positions can be committed at the moment. */
  canCommit(): boolean
  commit(positions: readonly Committed[]): Promise<void>
  /** Positions could not be committed; they are again. */
  failed(error: unknown): void
}

/** All that are ours. */
export class Partitions {
  readonly #options: PartitionsOptions
  readonly #sources = new Map<string, Source>()
  #soon: ReturnType<typeof setTimeout> | undefined
  /** One commit after the other: an older one that is repeated must not come behind a newer. */
  #committing: Promise<void> = Promise.resolve()
  #isStopped = false

  constructor(options: PartitionsOptions) {
    this.#options = options
  }

  [Symbol.iterator](): Iterator<Source> {
    return this.#sources.values()
  }

  get(topic: string, partition: number): Source | undefined {
    return this.#sources.get(`${topic} ${partition}`)
  }

  /** A partition is ours. */
  add(committed: Committed): void {
    const { topic, partition } = committed
    this.#sources.set(`${topic} ${partition}`, new Source(this.#options.pattern, committed))
  }

  /** The sources of some partitions that are ours. */
  of(partitions: readonly Partition[]): Set<Source> {
    return new Set(partitions.flatMap(({ topic, partition }) => this.get(topic, partition) ?? []))
  }

  /** Partitions are not ours any more. */
  remove(sources: Iterable<Source>): void {
    for (const source of sources) {
      source.isOurs = false
      const { topic, partition } = source
      if (this.get(topic, partition) === source) this.#sources.delete(`${topic} ${partition}`)
    }
  }

  /** Events that are not done, as far as is known; `undefined`: nothing is ours. */
  get lag(): number | undefined {
    let lag: number | undefined
    for (const { tracker, limit } of this) lag = (lag ?? 0) + tracker.open + Math.max(0, limit - tracker.end)
    return lag
  }

  /** Commits what is done, in a moment. */
  commitSoon(): void {
    if (this.#isStopped) return
    this.#soon ??= setTimeout(() => {
      this.commit()
        .catch((error) => this.#options.failed(error))
        .finally(() => {
          this.#soon = undefined
          // When there are brokers again, somebody says so.
          if (this.#options.canCommit() && [...this].some(({ tracker }) => tracker.isDirty)) this.commitSoon()
        })
    }, COMMIT_AFTER)
  }

  /** Commits what is done. @throws it could not be committed; it is again the next time */
  commit(): Promise<void> {
    const committed = this.#committing.then(() => this.#commit())
    this.#committing = committed.catch(() => {})
    return committed
  }

  async #commit(): Promise<void> {
    if (!this.#options.canCommit()) return
    const dirty = [...this].filter(({ tracker }) => tracker.isDirty)
    const positions = dirty.map(({ topic, partition, tracker }) => {
      tracker.isDirty = false
      return { topic, partition, next: BigInt(tracker.lowest), metadata: tracker.beside }
    })
    try {
      await this.#options.commit(positions)
    } catch (error) {
      for (const { tracker } of dirty) tracker.isDirty = true
      throw error
    }
  }

  /** Commits nothing more by itself. */
  stop(): void {
    this.#isStopped = true
    clearTimeout(this.#soon)
  }
}

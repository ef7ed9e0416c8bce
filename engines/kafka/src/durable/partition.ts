/** The partitions that are assigned to one durable handler in one process, and the events of each that are done. */
import type { Clock } from '@elysia-microservices/transport/kit'
import { soon } from '../connection/brokers.ts'
import type { Committed } from '../connection/group.ts'
import type { Partition } from '../driver.ts'
import { Tracker } from './tracker.ts'

/**
 * Milliseconds until done events are committed. When the process is killed before, another process runs these events
 * again.
 */
const COMMIT_AFTER = 50
/** Milliseconds until a commit that has failed is repeated. */
const AGAIN_AFTER = 100

/** A partition from which events have come. */
export class Source {
  readonly topic: string
  readonly topicId: string
  readonly partition: number
  /** The topic of the pattern. It differs from `topic` if this is a partition of a topic of retries. */
  readonly pattern: string
  readonly tracker: Tracker
  /** The position behind the last record of the partition, as far as it is known. */
  limit = 0
  /** False once another process owns the partition, or its topic was created again. */
  isOurs = true

  constructor(pattern: string, { topic, topicId, partition, next, metadata }: Committed) {
    this.pattern = pattern
    this.topic = topic
    this.topicId = topicId
    this.partition = partition
    this.tracker = new Tracker(Number(next), metadata)
  }
}

/** The settings of a handler's partitions, and the functions that they call. */
export interface PartitionsOptions {
  readonly pattern: string
  readonly clock: Clock
  /** Whether the brokers can be asked at the moment. */
  canCommit(): boolean
  commit(positions: readonly Committed[]): Promise<void>
  /** Is called when a commit has failed; the positions are committed again later. */
  failed(error: unknown): void
}

/** All partitions that are assigned to this process. */
export class Partitions {
  readonly #options: PartitionsOptions
  readonly #sources = new Map<string, Source>()
  /** Cancels the next commit. */
  #soon: (() => void) | undefined
  /** Commits run one after the other: an old commit that is repeated must not arrive after a newer one. */
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

  /** Adds a partition that was assigned to this process. */
  add(committed: Committed): void {
    const { topic, partition } = committed
    this.#sources.set(`${topic} ${partition}`, new Source(this.#options.pattern, committed))
  }

  /** The assigned partitions among some partitions. */
  of(partitions: readonly Partition[]): Set<Source> {
    return new Set(partitions.flatMap(({ topic, partition }) => this.get(topic, partition) ?? []))
  }

  /** Removes partitions that are no longer assigned to this process. */
  remove(sources: Iterable<Source>): void {
    for (const source of sources) {
      source.isOurs = false
      const { topic, partition } = source
      if (this.get(topic, partition) === source) this.#sources.delete(`${topic} ${partition}`)
    }
  }

  /** Stored events that are not done, as far as is known; `undefined`: no partition is assigned to this process. */
  get lag(): number | undefined {
    let lag: number | undefined
    for (const { tracker, limit } of this) lag = (lag ?? 0) + tracker.open + Math.max(0, limit - tracker.end)
    return lag
  }

  /** Commits the done events in a moment. */
  commitSoon(): void {
    if (this.#isStopped) return
    this.#soon ??= this.#options.clock.after(COMMIT_AFTER, () => {
      this.commit()
        .catch((error) => this.#options.failed(error))
        .finally(() => {
          this.#soon = undefined
          // Without brokers there is no next attempt here: a commit follows when the brokers are back.
          if (this.#options.canCommit() && [...this].some(({ tracker }) => tracker.isDirty)) this.commitSoon()
        })
    })
  }

  /** Commits the done events. @throws the commit has failed; the next commit includes the same positions */
  commit(): Promise<void> {
    const committed = this.#committing.then(() => this.#commit())
    this.#committing = committed.catch(() => {})
    return committed
  }

  async #commit(): Promise<void> {
    if (!this.#options.canCommit()) return
    const dirty = [...this].filter(({ tracker }) => tracker.isDirty)
    const positions = dirty.map(({ topic, topicId, partition, tracker }) => {
      tracker.isDirty = false
      return { topic, topicId, partition, next: BigInt(tracker.lowest), metadata: tracker.beside }
    })
    try {
      await this.#options.commit(positions)
    } catch (error) {
      for (const { tracker } of dirty) tracker.isDirty = true
      throw error
    }
  }

  /**
   * Commits the done events of partitions that go to another member, and repeats commits that fail: the other member
   * runs every event again whose end was not committed. Returns early when the partitions are lost, and after `stop`.
   * @param attempts default: without a limit
   */
  async commitAll(sources: ReadonlySet<Source>, attempts = Number.POSITIVE_INFINITY): Promise<void> {
    const isLeft = () => [...sources].some(({ isOurs, tracker }) => isOurs && tracker.isDirty)
    for (let attempt = 1; ; attempt++) {
      await this.commit().catch((error) => this.#options.failed(error))
      if (this.#isStopped || !isLeft() || attempt >= attempts) return
      await soon(AGAIN_AFTER)
    }
  }

  /** Stops the commits that `commitSoon` has planned. */
  stop(): void {
    this.#isStopped = true
    this.#soon?.()
  }
}

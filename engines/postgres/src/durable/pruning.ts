/**
 * Deletes what is too old: a step with each turn until nothing is left, and twice a minute then. Each step begins behind
 * what was deleted before, because PostgreSQL keeps deleted rows for as long as a transaction of anybody stays open.
 */
import { type Clock, type Logger, shown } from '@elysia-microservices/transport/kit'
import { NOTHING, type Pruned, type Tables } from '../connection/tables.ts'
import type { CheckedOptions } from '../options/options.ts'

/** Milliseconds between two looks for what is too old, and between two that begin at the beginning. */
const EVERY = 30_000
const WHOLLY_EVERY = 600_000

/** The deletions of one process. */
export class Pruning {
  readonly #options: Pick<CheckedOptions, 'maxAge' | 'duplicateWindow'>
  readonly #clock: Clock
  readonly #logger: Logger
  #behind = NOTHING
  #isBehind = false
  /** Counts of events that groups have missed, of which nothing was told yet. */
  readonly #missed = new Map<string, Pruned['missed'][number]>()
  #doneAt = 0
  #whollyAt = Number.NEGATIVE_INFINITY

  constructor(options: Pick<CheckedOptions, 'maxAge' | 'duplicateWindow'>, clock: Clock, logger: Logger) {
    this.#options = options
    this.#clock = clock
    this.#logger = logger
  }

  /** Whether there is more to delete at once. */
  get isBehind(): boolean {
    return this.#isBehind
  }

  /** Deletes some, if it is time. @throws the driver's error */
  async step(tables: Tables): Promise<void> {
    const now = this.#clock.now()
    if (now - this.#doneAt <= EVERY) return
    if (now - this.#whollyAt > WHOLLY_EVERY) {
      this.#behind = NOTHING
      this.#whollyAt = now
    }
    const { maxAge, duplicateWindow } = this.#options
    const { more, missed, ...behind } = await tables.prune(maxAge, duplicateWindow, this.#behind)
    this.#behind = behind
    this.#isBehind = more
    for (const { group, pattern, count } of missed) {
      const name = JSON.stringify([group, pattern])
      const before = this.#missed.get(name)?.count ?? 0
      this.#missed.set(name, { group, pattern, count: before + count })
    }
    if (more) return
    this.#doneAt = now
    this.#tell()
  }

  #tell(): void {
    for (const { group, pattern, count } of this.#missed.values())
      this.#logger.error(
        `${count} events '${shown(pattern)}' that the group '${group}' had not handled were deleted, because they were older than maxAge`
      )
    this.#missed.clear()
  }

  /** The server may be another one, which has deleted less. */
  forget(): void {
    this.#whollyAt = Number.NEGATIVE_INFINITY
    this.#isBehind = false
  }
}

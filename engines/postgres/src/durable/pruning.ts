/**
 * Deletes what is too old: a step with each turn until nothing is left, and twice a minute then. Each step begins behind
 * what was deleted before, because PostgreSQL keeps deleted rows for as long as a transaction of anybody stays open.
 */
import type { Clock } from '@elysia-microservices/transport/kit'
import { NOTHING, type Tables } from '../connection/tables.ts'
import type { CheckedOptions } from '../options/options.ts'

/** Milliseconds between two looks for what is too old, and between two that begin at the beginning. */
const EVERY = 30_000
const WHOLLY_EVERY = 600_000

/** The deletions of one process. */
export class Pruning {
  readonly #options: Pick<CheckedOptions, 'maxAge' | 'duplicateWindow'>
  readonly #clock: Clock
  #behind = NOTHING
  #doneAt = 0
  #whollyAt = Number.NEGATIVE_INFINITY

  constructor(options: Pick<CheckedOptions, 'maxAge' | 'duplicateWindow'>, clock: Clock) {
    this.#options = options
    this.#clock = clock
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
    const { more, ...behind } = await tables.prune(maxAge, duplicateWindow, this.#behind)
    this.#behind = behind
    if (!more) this.#doneAt = now
  }

  /** The server may be another one, which has deleted less. */
  forget(): void {
    this.#whollyAt = Number.NEGATIVE_INFINITY
  }
}

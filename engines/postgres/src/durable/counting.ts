/** The bytes that the log keeps are known as far as somebody has looked through it: turns do, and publishers that have a limit. */
import { type Clock, passedBy, systemClock } from '@elysia-microservices/transport/kit'
import type { Keeping } from '../connection/in-transaction.ts'
import type { Tables } from '../connection/tables.ts'

/** Milliseconds between two looks. */
const EVERY = 1_000

/** The looks of one publisher. */
export class Counting {
  readonly #tables: Pick<Tables, 'advance'>
  readonly #clock: Clock
  /** The time of the next look; never: there is no limit. */
  #next: number
  #isLooking = false

  constructor(
    tables: Pick<Tables, 'advance'>,
    { maxBytes }: Pick<Keeping, 'maxBytes'>,
    clock: Clock = systemClock
  ) {
    this.#tables = tables
    this.#clock = clock
    this.#next = maxBytes === 0 ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY
  }

  /** Events were published. */
  published(): void {
    const now = passedBy(this.#clock)
    if (this.#isLooking || now < this.#next) return
    this.#isLooking = true
    this.#tables
      .advance()
      // A user that only publishes has no right to look; nor does it matter here whether the server is lost.
      .catch(() => {})
      .finally(() => {
        this.#isLooking = false
        this.#next = passedBy(this.#clock) + EVERY
      })
  }
}

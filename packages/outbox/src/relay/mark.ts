/**
 * The position up to which nothing is left to be read. Without it, each reading begins with all events published
 * since PostgreSQL could last remove their entries from the index, which are millions while a long report or a backup
 * runs.
 */

/** What one snapshot of the database shows. */
export interface Positions {
  /** The first fresh event above the mark; `undefined` if there is none. */
  readonly first: bigint | undefined
  /** The last event of all; 0 if there is none. */
  readonly last: bigint
  /** The number of the oldest transaction that runs. */
  readonly running: bigint
  /** The number of the next transaction. */
  readonly next: bigint
}

/**
 * Moves up only when it is certain that no event can appear below: a transaction that runs may have taken a position
 * long ago. Transactions have a number before they take positions, so when all that ran at one moment have ended, every
 * position up to the last one seen at that moment is seen or will never be. Pure.
 */
export class Mark {
  /** All events up to here are published, put aside, or wait for another attempt. */
  position = 0n
  #candidate: { readonly last: bigint; readonly next: bigint } | undefined

  /** @param positions of a snapshot taken with the mark as it is */
  see({ first, last, running, next }: Positions): void {
    this.#candidate ??= { last, next }
    if (running < this.#candidate.next) return
    const reached = first === undefined || first > this.#candidate.last ? this.#candidate.last : first - 1n
    if (reached > this.position) this.position = reached
    this.#candidate = { last, next }
  }
}

/** Pauses of the group of the service, which may overlap: it goes on when the last one ends. */
import type { Ledger } from './ledger.ts'
import type { Operators } from './operators.ts'
import { wait } from './world.ts'

export class Pauses {
  readonly #operators: Operators
  readonly #ledger: Ledger
  #now = 0

  constructor(operators: Operators, ledger: Ledger) {
    this.#operators = operators
    this.#ledger = ledger
  }

  async pause(milliseconds: number): Promise<void> {
    this.#now++
    await this.#operators.pause(true)
    this.#ledger.paused.since ??= performance.now()
    await wait(milliseconds)
    if (--this.#now > 0) return
    this.#ledger.paused.since = undefined
    await this.#operators.pause(false)
  }
}

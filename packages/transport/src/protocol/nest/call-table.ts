/**
 * The calls of one connection that wait for an answer, by id. Ids are never used twice, because a Nest
 * server goes on sending after the caller has left; the slot of an id in the array is (`id` mod size).
 */

/** A waiting call; its table gives it the id. */
export interface TableEntry {
  id: number
}

const INITIAL_SIZE = 64

/** Finds a call by its id with one array access. */
export class CallTable<Call extends TableEntry> {
  #slots: (Call | undefined)[] = new Array(INITIAL_SIZE).fill(undefined)
  #mask = INITIAL_SIZE - 1
  #lastId = 0
  #size = 0

  /** How many calls wait. */
  get size(): number {
    return this.#size
  }

  /** Gives the call an id of its own and keeps it. */
  add(call: Call): void {
    if ((this.#size + 1) * 2 > this.#slots.length) this.#resize(this.#slots.length * 2)
    let id = this.#lastId + 1
    // A slot may still belong to an old call, such as a long stream: that id is passed over.
    while (this.#slots[id & this.#mask] !== undefined) id++
    this.#lastId = id
    call.id = id
    this.#slots[id & this.#mask] = call
    this.#size++
  }

  /** The call of an id; `undefined` if it does not wait any more, or never did. */
  get(id: number): Call | undefined {
    const call = this.#slots[id & this.#mask]
    return call !== undefined && call.id === id ? call : undefined
  }

  /** Removes a call; false if it was not there. */
  delete(call: Call): boolean {
    const slot = call.id & this.#mask
    if (this.#slots[slot] !== call) return false
    this.#slots[slot] = undefined
    this.#size--
    if (this.#size === 0 && this.#slots.length > INITIAL_SIZE * 64) this.#resize(INITIAL_SIZE)
    return true
  }

  /** All calls, oldest first. */
  all(): Call[] {
    const calls: Call[] = []
    for (const call of this.#slots) if (call !== undefined) calls.push(call)
    return calls.sort((a, b) => a.id - b.id)
  }

  #resize(size: number): void {
    const calls = this.#slots
    this.#slots = new Array(size).fill(undefined)
    this.#mask = size - 1
    // Ids that differ modulo the old size differ modulo its double.
    for (const call of calls) if (call !== undefined) this.#slots[call.id & this.#mask] = call
  }
}

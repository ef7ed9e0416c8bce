/**
 * The calls of one connection that wait for an answer, by sequence number. Hot path: one array access finds a
 * call; its slot is the number modulo the size of the array. A call that is still there when the numbers come
 * round (a long stream) moves to a map.
 */

/** A call; its table numbers it. */
export interface TableEntry {
  sequence: number
}

const INITIAL_SIZE = 8

/** Numbers calls from 1, one after the other, and finds them. */
export class StreamTable<Call extends TableEntry> {
  readonly #max: number
  /** Made for the first call that is still there when the numbers come round. */
  #old: Map<number, Call> | undefined
  #slots: (Call | undefined)[] = new Array(INITIAL_SIZE).fill(undefined)
  #mask = INITIAL_SIZE - 1
  #last: number
  #size = 0

  /**
   * @param max after this number, numbering starts again at 1 and leaves out those in use
   * @param last the number given last; default: none yet
   */
  constructor(max: number, last = 0) {
    this.#max = max
    this.#last = last
  }

  /** The number given last; how many calls there were, while numbering has not started again. */
  get last(): number {
    return this.#last
  }

  /** How many calls wait. */
  get size(): number {
    return this.#size
  }

  /** Numbers the call and keeps it. */
  add(call: Call): void {
    if ((this.#size + 1) * 2 > this.#slots.length) this.#resize(this.#slots.length * 2)
    do {
      this.#last = this.#last === this.#max ? 1 : this.#last + 1
    } while (this.get(this.#last) !== undefined)
    call.sequence = this.#last
    const slot = call.sequence & this.#mask
    const occupant = this.#slots[slot]
    if (occupant !== undefined) {
      this.#old ??= new Map()
      this.#old.set(occupant.sequence, occupant)
    }
    this.#slots[slot] = call
    this.#size++
  }

  /** The call of a number; `undefined` if it does not wait any more, or never did. */
  get(sequence: number): Call | undefined {
    const call = this.#slots[sequence & this.#mask]
    if (call !== undefined && call.sequence === sequence) return call
    return this.#old?.get(sequence)
  }

  /** Removes a call; false if it was not there. */
  delete(call: Call): boolean {
    const slot = call.sequence & this.#mask
    if (this.#slots[slot] === call) this.#slots[slot] = undefined
    else if (this.#old?.get(call.sequence) === call) this.#old.delete(call.sequence)
    else return false
    this.#size--
    if (this.#size === 0 && this.#slots.length > INITIAL_SIZE * 512) this.#resize(INITIAL_SIZE)
    return true
  }

  /** Removes the call that was added last, and gives its number to the next. */
  takeBack(call: Call): void {
    if (this.delete(call) && call.sequence === this.#last) this.#last--
  }

  /** All calls, oldest first. */
  all(): Call[] {
    const calls = this.#slots.filter((call) => call !== undefined)
    return [...(this.#old?.values() ?? []), ...calls].sort((a, b) => a.sequence - b.sequence)
  }

  #resize(size: number): void {
    const calls = this.#slots
    this.#slots = new Array(size).fill(undefined)
    this.#mask = size - 1
    // Numbers that differ modulo the old size differ modulo its double.
    for (const call of calls) if (call !== undefined) this.#slots[call.sequence & this.#mask] = call
  }
}

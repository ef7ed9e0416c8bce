/**
 * The requests in flight on one connection, by number. This is a hot path: one array access finds an entry, whose slot
 * is its number modulo the size of the array. If a new entry needs the slot of an older one (a long stream), the older
 * entry moves to a Map. One Map for all entries would be simpler, but V8 keeps old tables of a Map alive while entries
 * are added and removed: with 100 handlers in flight these tables held requests that were answered long ago, and the
 * garbage collector took half of the server's time.
 */

/** An entry of the table. */
export interface TableEntry {
  /** The number by which the table finds the entry. */
  sequence: number
}

const INITIAL_SIZE = 8
/** The slots that all empty tables share: most connections are idle and need no array of their own. */
const NO_SLOTS: undefined[] = [undefined]

/** Finds entries by numbers that the user of the table chooses. */
export class SlotTable<Entry extends TableEntry> {
  /** Entries whose slot a newer entry needed. The Map is made for the first of them. */
  #old: Map<number, Entry> | undefined
  #slots: (Entry | undefined)[] = NO_SLOTS
  #mask = 0
  #size = 0

  /** Number of entries. */
  get size(): number {
    return this.#size
  }

  /** Adds an entry. No other entry may have the same number. */
  put(entry: Entry): void {
    if ((this.#size + 1) * 2 > this.#slots.length)
      this.#resize(Math.max(INITIAL_SIZE, this.#slots.length * 2))
    const slot = entry.sequence & this.#mask
    const occupant = this.#slots[slot]
    if (occupant !== undefined) {
      this.#old ??= new Map()
      this.#old.set(occupant.sequence, occupant)
    }
    this.#slots[slot] = entry
    this.#size++
  }

  /** The entry with this number; `undefined` if there is none. */
  get(sequence: number): Entry | undefined {
    const entry = this.#slots[sequence & this.#mask]
    if (entry !== undefined && entry.sequence === sequence) return entry
    return this.#old?.get(sequence)
  }

  /** Removes an entry. Returns false if the table did not have the entry. */
  delete(entry: Entry): boolean {
    const slot = entry.sequence & this.#mask
    if (this.#slots[slot] === entry) this.#slots[slot] = undefined
    else if (this.#old?.get(entry.sequence) === entry) this.#old.delete(entry.sequence)
    else return false
    this.#size--
    if (this.#size === 0 && this.#slots.length > INITIAL_SIZE * 512) this.#resize(INITIAL_SIZE)
    return true
  }

  /** All entries, sorted by number. */
  all(): Entry[] {
    const entries = this.#slots.filter((entry) => entry !== undefined)
    return [...(this.#old?.values() ?? []), ...entries].sort((a, b) => a.sequence - b.sequence)
  }

  #resize(size: number): void {
    const entries = this.#slots
    this.#slots = new Array(size).fill(undefined)
    this.#mask = size - 1
    // Entries cannot collide: numbers that differ modulo the old size differ modulo the larger one too.
    for (const entry of entries) if (entry !== undefined) this.#slots[entry.sequence & this.#mask] = entry
  }
}

/** A table that numbers its entries itself, from 1 upwards. */
export class StreamTable<Entry extends TableEntry> extends SlotTable<Entry> {
  readonly #max: number
  #last: number

  /**
   * @param max the largest number; after it, numbering starts again at 1 and skips numbers in use; default: 2^30
   * @param last the last number that was used before this table; default: none
   */
  constructor(max = 2 ** 30, last = 0) {
    super()
    this.#max = max
    this.#last = last
  }

  /**
   * The last number given to an entry. Until numbering starts again, this number also counts all entries ever added.
   */
  get last(): number {
    return this.#last
  }

  /** Gives an entry the next number and adds it. */
  add(entry: Entry): void {
    do {
      this.#last = this.#last === this.#max ? 1 : this.#last + 1
    } while (this.get(this.#last) !== undefined)
    entry.sequence = this.#last
    this.put(entry)
  }

  /** Removes the entry that was added last; the next entry gets its number. */
  takeBack(entry: Entry): void {
    if (this.delete(entry) && entry.sequence === this.#last) this.#last--
  }
}

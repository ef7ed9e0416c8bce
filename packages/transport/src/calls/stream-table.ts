/**
 * What is in flight on one connection, by number. Hot path: one array access finds an entry; its slot is the number
 * modulo the size of the array. An entry that is still there when another needs its slot (a long stream) moves to a
 * map. A map for all of them would do, but V8 leaves a trail of old maps behind when entries come and go: with 100
 * handlers in flight it kept what had long been answered, and half of the server's time went into collecting it.
 */

/** An entry of a table. */
export interface TableEntry {
  /** Its number. */
  sequence: number
}

const INITIAL_SIZE = 8
/** The slots of a table that has never been used: most connections are idle. */
const NO_SLOTS: undefined[] = [undefined]

/** Finds entries by numbers that others give. */
export class SlotTable<Entry extends TableEntry> {
  /** Made for the first entry whose slot another needs. */
  #old: Map<number, Entry> | undefined
  #slots: (Entry | undefined)[] = NO_SLOTS
  #mask = 0
  #size = 0

  /** How many entries there are. */
  get size(): number {
    return this.#size
  }

  /** Keeps an entry, whose number no other has. */
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

  /** The entry of a number; `undefined` if it is not there any more, or never was. */
  get(sequence: number): Entry | undefined {
    const entry = this.#slots[sequence & this.#mask]
    if (entry !== undefined && entry.sequence === sequence) return entry
    return this.#old?.get(sequence)
  }

  /** Removes an entry; false if it was not there. */
  delete(entry: Entry): boolean {
    const slot = entry.sequence & this.#mask
    if (this.#slots[slot] === entry) this.#slots[slot] = undefined
    else if (this.#old?.get(entry.sequence) === entry) this.#old.delete(entry.sequence)
    else return false
    this.#size--
    if (this.#size === 0 && this.#slots.length > INITIAL_SIZE * 512) this.#resize(INITIAL_SIZE)
    return true
  }

  /** All entries, by number. */
  all(): Entry[] {
    const entries = this.#slots.filter((entry) => entry !== undefined)
    return [...(this.#old?.values() ?? []), ...entries].sort((a, b) => a.sequence - b.sequence)
  }

  #resize(size: number): void {
    const entries = this.#slots
    this.#slots = new Array(size).fill(undefined)
    this.#mask = size - 1
    // Numbers that differ modulo the old size differ modulo its double.
    for (const entry of entries) if (entry !== undefined) this.#slots[entry.sequence & this.#mask] = entry
  }
}

/** Numbers its entries from 1, one after the other. */
export class StreamTable<Entry extends TableEntry> extends SlotTable<Entry> {
  readonly #max: number
  #last: number

  /**
   * @param max after this number, numbering starts again at 1 and leaves out those in use; default: 2^30
   * @param last the number given last; default: none yet
   */
  constructor(max = 2 ** 30, last = 0) {
    super()
    this.#max = max
    this.#last = last
  }

  /** The number given last; how many entries there were, while numbering has not started again. */
  get last(): number {
    return this.#last
  }

  /** Numbers the entry and keeps it. */
  add(entry: Entry): void {
    do {
      this.#last = this.#last === this.#max ? 1 : this.#last + 1
    } while (this.get(this.#last) !== undefined)
    entry.sequence = this.#last
    this.put(entry)
  }

  /** Removes the entry that was added last, and gives its number to the next. */
  takeBack(entry: Entry): void {
    if (this.delete(entry) && entry.sequence === this.#last) this.#last--
  }
}

/** The dynamic table of HPACK: the newest fields, as far as they fit in. RFC 7541, sections 2.3.2 and 4. */
import { type Field, sizeOf } from './field.ts'

/** The largest size that either side of a connection uses, in bytes as HPACK counts them. */
export const TABLE_SIZE = 4_096
/** A field counts at least 32 bytes, so a table never has more. */
const MOST_FIELDS = 128
const MASK = MOST_FIELDS - 1

/** One table. The newest field has the index 0. */
export class DynamicTable {
  readonly #evicted: ((field: Field) => void) | undefined
  /** A ring. Made for the first field, because many connections are idle. */
  #ring: Field[] | undefined
  #max = TABLE_SIZE
  #size = 0
  /** The number of fields. */
  length = 0
  /** The number of fields that were ever added. */
  added = 0

  /** @param evicted is called with each field that leaves the table */
  constructor(evicted?: (field: Field) => void) {
    this.#evicted = evicted
  }

  /** The field with an index; `undefined` if there is none. */
  get(index: number): Field | undefined {
    return index < this.length ? this.#ring?.[(this.added - 1 - index) & MASK] : undefined
  }

  /** Adds a field, for which older ones leave. A field above the size of the table empties it, and is not added. */
  add(field: Field): void {
    const size = sizeOf(field.name, field.value)
    this.#shrink(this.#max - size)
    if (size > this.#max) return
    this.#ring ??= []
    this.#ring[this.added & MASK] = field
    this.#size += size
    this.length++
    this.added++
  }

  /** Changes the size of the table, for which fields may leave. @param max at most `TABLE_SIZE` */
  resize(max: number): void {
    this.#max = max
    this.#shrink(max)
  }

  #shrink(max: number): void {
    while (this.#size > max && this.length > 0) {
      const oldest = this.#ring?.[(this.added - this.length) & MASK] as Field
      this.#size -= sizeOf(oldest.name, oldest.value)
      this.length--
      this.#evicted?.(oldest)
    }
  }
}

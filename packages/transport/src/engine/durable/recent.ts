/** Remembers what has been done lately: if the acknowledgement is lost with a server, the event comes again. */

/** Keys with a value each, so many of the latest at least, and twice as many at most. */
export class Recent<Key, Value> {
  readonly #size: number
  /** Two generations: taking the oldest out of one map is slow. */
  #young = new Map<Key, Value>()
  #old: ReadonlyMap<Key, Value> = new Map()

  /** @param size how many are remembered at least */
  constructor(size: number) {
    this.#size = size
  }

  get isEmpty(): boolean {
    return this.#young.size + this.#old.size === 0
  }

  /** Remembers a value. */
  set(key: Key, value: Value): void {
    this.#young.set(key, value)
    if (this.#young.size < this.#size) return
    this.#old = this.#young
    this.#young = new Map()
  }

  /** The latest value of a key; `undefined`: there is none, or it was too long ago. */
  get(key: Key): Value | undefined {
    return this.#young.get(key) ?? this.#old.get(key)
  }
}

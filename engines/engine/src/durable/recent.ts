/** Remembers recent results: if the acknowledgement of an event is lost with a server, the event is delivered again. */

/** Stores a value for each key: at least the latest `size` keys, at most twice as many. */
export class Recent<Key, Value> {
  readonly #size: number
  /** Two generations of entries, because to remove the oldest entry of one Map is slow. */
  #young = new Map<Key, Value>()
  #old: ReadonlyMap<Key, Value> = new Map()

  /** @param size number of keys that are remembered at least */
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

  /** The latest value of a key; `undefined` if there was none, or too long ago. */
  get(key: Key): Value | undefined {
    return this.#young.get(key) ?? this.#old.get(key)
  }
}

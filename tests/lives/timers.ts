/** The timers of a world: as Node has them, and in the order in which they are due. */

/** The world, as far as a timer knows it. */
interface Time {
  /** Milliseconds since the world began. */
  readonly now: number
  readonly timers: Timers
  /** The number that stands for a timer, where a number is wanted. */
  numberOf(timer: Timer): number
}

/** A timer of the world, as Node has them. */
export class Timer {
  /** Its place among the others; `undefined`: it does not run. */
  entry: Entry | undefined
  readonly task: () => void
  readonly #world: Time
  readonly #delay: number
  readonly #repeats: boolean

  constructor(world: Time, task: () => void, delay: number, repeats: boolean) {
    this.#world = world
    this.task = task
    // As in every runtime, a timer waits for at least a millisecond, and a time that is none is the shortest.
    this.#delay = delay >= 1 && delay <= 2 ** 31 - 1 ? Math.trunc(delay) : 1
    this.#repeats = repeats
    this.refresh()
  }

  get repeats(): boolean {
    return this.#repeats
  }

  refresh(): this {
    this.#world.timers.add(this, this.#world.now + this.#delay)
    return this
  }

  ref(): this {
    return this
  }

  unref(): this {
    return this
  }

  hasRef(): boolean {
    return true
  }

  close(): this {
    this.#world.timers.delete(this)
    return this
  }

  [Symbol.dispose](): void {
    this.close()
  }

  [Symbol.toPrimitive](): number {
    return this.#world.numberOf(this)
  }
}

/** When a timer is due; of equal ones the older comes first. */
interface Entry {
  readonly due: number
  readonly order: number
  readonly timer: Timer
}

/** Timers in the order in which they are due. Those that were cleared stay until then, because looking for them takes long. */
export class Timers {
  readonly #heap: Entry[] = []
  #size = 0
  #orders = 0

  get size(): number {
    return this.#size
  }

  get due(): number {
    for (;;) {
      const first = this.#heap[0]
      if (first === undefined) return Infinity
      if (first.timer.entry === first) return first.due
      this.#removeFirst()
    }
  }

  add(timer: Timer, due: number): void {
    const entry = { due, order: ++this.#orders, timer }
    if (timer.entry === undefined) this.#size++
    timer.entry = entry
    const heap = this.#heap
    let at = heap.push(entry) - 1
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (!isBefore(entry, heap[parent] as Entry)) break
      heap[at] = heap[parent] as Entry
      at = parent
    }
    heap[at] = entry
  }

  delete(timer: Timer): void {
    if (timer.entry === undefined) return
    timer.entry = undefined
    this.#size--
  }

  /** Takes the first one, which `due` has found. */
  take(): Timer {
    const { timer } = this.#heap[0] as Entry
    this.#removeFirst()
    this.delete(timer)
    return timer
  }

  clear(): void {
    for (const { timer } of this.#heap) timer.entry = undefined
    this.#heap.length = 0
    this.#size = 0
  }

  #removeFirst(): void {
    const heap = this.#heap
    const last = heap.pop() as Entry
    const { length } = heap
    if (length === 0) return
    let at = 0
    for (;;) {
      let least = 2 * at + 1
      if (least >= length) break
      if (least + 1 < length && isBefore(heap[least + 1] as Entry, heap[least] as Entry)) least++
      if (!isBefore(heap[least] as Entry, last)) break
      heap[at] = heap[least] as Entry
      at = least
    }
    heap[at] = last
  }
}

const isBefore = (one: Entry, other: Entry): boolean =>
  one.due < other.due || (one.due === other.due && one.order < other.order)

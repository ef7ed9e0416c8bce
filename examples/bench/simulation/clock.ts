/** A clock that jumps from event to event, and dice that are the same in every run. */

/** Numbers from 0 (inclusive) to 1 (exclusive), the same for the same seed (mulberry32). */
export function dice(seed: number): () => number {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** A time until something that happens at random, with this mean. */
export const exponential = (mean: number, random: () => number): number => -mean * Math.log(1 - random())

/** Milliseconds from 0, in which nothing takes time but what is planned. */
export class Clock {
  now = 0
  /** A heap: the parent of the entry at `i` is at `(i - 1) >> 1`, and not later. */
  readonly #times: number[] = []
  readonly #actions: (() => void)[] = []

  /** Does something in so many milliseconds; what is planned for the same time is done in any order. */
  after(delay: number, action: () => void): void {
    const times = this.#times
    const actions = this.#actions
    const time = this.now + delay
    let at = times.length
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (times[parent]! <= time) break
      times[at] = times[parent]!
      actions[at] = actions[parent]!
      at = parent
    }
    times[at] = time
    actions[at] = action
  }

  /** Lets the time pass. What is planned for later stays undone. */
  runUntil(end: number): void {
    while (this.#times.length > 0 && this.#times[0]! <= end) {
      this.now = this.#times[0]!
      const action = this.#actions[0]!
      this.#removeFirst()
      action()
    }
    this.now = end
  }

  #removeFirst(): void {
    const times = this.#times
    const actions = this.#actions
    const time = times.pop()!
    const action = actions.pop()!
    const count = times.length
    if (count === 0) return
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= count) break
      if (child + 1 < count && times[child + 1]! < times[child]!) child++
      if (times[child]! >= time) break
      times[at] = times[child]!
      actions[at] = actions[child]!
      at = child
    }
    times[at] = time
    actions[at] = action
  }
}

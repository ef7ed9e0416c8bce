/**
 * Takes the place of the runtime's timers and clocks for one test, so that minutes pass in no time and nothing depends
 * on how busy the machine is. It holds for the whole process: only one test may have it at a time.
 */

const realClear = globalThis.clearTimeout
const realTimeout = globalThis.setTimeout

/** Milliseconds of the system's clock that files and modules may take on a busy machine while no timer is due. */
const MOST_IDLE = 2_000

/** A timer of a test. It can do what those of Node can. */
class VirtualTimer {
  due: number
  readonly task: () => void
  readonly every: number | undefined

  constructor(due: number, task: () => void, every: number | undefined) {
    this.due = due
    this.task = task
    this.every = every
  }

  ref(): this {
    return this
  }

  unref(): this {
    return this
  }
}

/** The time of one test: `using time = new VirtualTime()`. */
export class VirtualTime {
  #now = Math.ceil(performance.now())
  readonly #timers = new Set<VirtualTimer>()
  readonly #turns: number
  readonly #restores: (() => void)[] = []

  /** @param turns turns of the event loop within which all happens that can happen without time */
  constructor(turns = 3) {
    this.#turns = turns
    const wall = Date.now() - this.#now
    const timer =
      (repeats: boolean) =>
      (task: (...args: unknown[]) => void, delay = 0, ...args: unknown[]) => {
        // As in every runtime, a timer waits for at least a millisecond.
        const ms = delay >= 1 ? Math.trunc(delay) : 1
        const one = new VirtualTimer(this.#now + ms, () => task(...args), repeats ? ms : undefined)
        this.#timers.add(one)
        return one
      }
    const clear = (one: unknown) => {
      if (one instanceof VirtualTimer) this.#timers.delete(one)
      else realClear(one as ReturnType<typeof setTimeout>)
    }
    this.#replace(globalThis, {
      setTimeout: timer(false),
      setInterval: timer(true),
      clearTimeout: clear,
      clearInterval: clear
    })
    this.#replace(performance, { now: () => this.#now })
    this.#replace(Date, { now: () => wall + this.#now })
  }

  /** Milliseconds, as `performance.now()` tells them. */
  get now(): number {
    return this.#now
  }

  /** The number of timers that run. */
  get timers(): number {
    return this.#timers.size
  }

  /** Lets time pass. All that is due happens in its order, and with time between only what has to wait. */
  async pass(milliseconds: number): Promise<void> {
    const end = this.#now + milliseconds
    while (await this.#step(end));
    this.#now = end
  }

  /** Lets time pass until something is so. @throws {Error} it has not become so within an hour, or nothing is left */
  async until(what: string, isSo: () => boolean, milliseconds = 3_600_000): Promise<void> {
    const end = this.#now + milliseconds
    let idle = 0
    while (!isSo()) {
      if (await this.#step(end)) idle = 0
      else if (isSo()) return
      else if (idle++ >= MOST_IDLE) throw new Error(`${what}: it has not become so within ${milliseconds} ms`)
      else await new Promise((resolve) => realTimeout(resolve, 1))
    }
  }

  /** Lets time pass until a promise has settled. @returns its value */
  async settled<Value>(promise: Promise<Value>): Promise<Value> {
    let isSettled = false
    const settle = () => {
      isSettled = true
    }
    promise.then(settle, settle)
    await this.until('The promise settles', () => isSettled)
    return promise
  }

  /** The time of the runtime again. Timers of the test that are left never fire. */
  [Symbol.dispose](): void {
    for (const restore of this.#restores) restore()
  }

  #replace(owner: object, properties: Readonly<Record<string, unknown>>): void {
    for (const [name, value] of Object.entries(properties)) {
      const original = Object.getOwnPropertyDescriptor(owner, name)
      Object.defineProperty(owner, name, { value, configurable: true, writable: true })
      this.#restores.push(() => {
        if (original === undefined) Reflect.deleteProperty(owner, name)
        else Object.defineProperty(owner, name, original)
      })
    }
  }

  /** Does the next thing that is due. @returns false: nothing is due before the end */
  async #step(end: number): Promise<boolean> {
    for (let turn = 0; turn < this.#turns; turn++) await new Promise((resolve) => setImmediate(resolve))
    let next: VirtualTimer | undefined
    for (const one of this.#timers) if (next === undefined || one.due < next.due) next = one
    if (next === undefined || next.due > end) return false
    this.#now = Math.max(this.#now, next.due)
    if (next.every === undefined) this.#timers.delete(next)
    else next.due = this.#now + next.every
    next.task()
    return true
  }
}

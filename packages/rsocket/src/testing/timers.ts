/** Replaces the timers of the runtime for one test. */

/** Functions that replace those of the runtime. */
export interface Timers {
  readonly setTimeout?: (task: () => void, delay: number) => unknown
  readonly setInterval?: (task: () => void, pause: number) => unknown
  readonly clearTimeout?: (timer: ReturnType<typeof setTimeout>) => void
}

/**
 * Replaces timers until the returned object is disposed: `using _ = replaceTimers(…)`. `t.mock.method` cannot replace
 * the timers of Deno, because they are accessors.
 */
export function replaceTimers(timers: Timers): Disposable {
  const originals = Object.keys(timers).map(
    (name) => [name, Object.getOwnPropertyDescriptor(globalThis, name) as PropertyDescriptor] as const
  )
  for (const [name, value] of Object.entries(timers))
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true })
  return {
    [Symbol.dispose]() {
      for (const [name, original] of originals) Object.defineProperty(globalThis, name, original)
    }
  }
}

/** Holds timers until the test lets them pass; longer ones run as usual. */
export class HeldTimers {
  readonly #waiting = new Map<unknown, { readonly task: () => void; readonly delay: number }>()
  readonly #replaced: Disposable

  /** @param longest the longest delay in milliseconds of the timers that are held */
  constructor(longest: number) {
    const set = globalThis.setTimeout
    const clear = globalThis.clearTimeout
    this.#replaced = replaceTimers({
      setTimeout: (task, delay) => {
        if (delay > longest) return set(task, delay)
        const handle = set(() => {}, 0)
        this.#waiting.set(handle, { task, delay })
        return handle
      },
      clearTimeout: (handle) => {
        this.#waiting.delete(handle)
        clear(handle)
      }
    })
  }

  [Symbol.dispose](): void {
    this.#replaced[Symbol.dispose]()
  }

  get delays(): number[] {
    return [...this.#waiting.values()].map(({ delay }) => delay)
  }

  /** Lets all pass that wait now. */
  pass(): void {
    const tasks = [...this.#waiting.values()]
    this.#waiting.clear()
    for (const { task } of tasks) task()
  }
}

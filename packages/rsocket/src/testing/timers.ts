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

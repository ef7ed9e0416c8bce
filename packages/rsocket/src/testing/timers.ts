/** The timers of the runtime, replaced for one test. */

/** Functions that replace the runtime's. */
export interface Timers {
  readonly setTimeout?: (task: () => void, delay: number) => unknown
  readonly setInterval?: (task: () => void, pause: number) => unknown
  readonly clearTimeout?: (timer: ReturnType<typeof setTimeout>) => void
}

/**
 * Replaces them as long as what it returns is in use: `using _ = replaceTimers(…)`. `t.mock.method` refuses Deno's, which
 * are accessors.
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

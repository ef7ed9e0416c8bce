/** Waits with a time limit that is long enough for any slow machine. */

/** Milliseconds after which an event that must happen counts as missing. */
export const PATIENCE = 60_000

/**
 * The value of `promise`.
 * @throws {Error} the promise has not settled within `milliseconds`
 */
export async function within<Value>(
  promise: Promise<Value>,
  what: string,
  milliseconds = PATIENCE
): Promise<Value> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`Not within ${milliseconds} ms: ${what}`)), milliseconds)
  })
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}

/** Resolves after the milliseconds. */
export function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds))
}

/** Repeats a check until it is true, with growing pauses. @throws {Error} it has not become true within the time */
export async function until(
  what: string,
  isSo: () => boolean | Promise<boolean>,
  milliseconds = PATIENCE
): Promise<void> {
  const end = performance.now() + milliseconds
  for (let wait = 1; !(await isSo()); wait = Math.min(2 * wait, 50)) {
    if (performance.now() > end) throw new Error(`Not within ${milliseconds} ms: ${what}`)
    await pause(wait)
  }
}

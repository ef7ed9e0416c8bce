/** Watchdogs: long enough for any machine that is merely slow. */

/** Milliseconds after which something that must happen will not happen any more. */
export const PATIENCE = 60_000

/**
 * The value of `promise`.
 * @throws {Error} it has not settled within `milliseconds`
 */
export async function within<Value>(
  promise: Promise<Value>,
  what: string,
  milliseconds = PATIENCE
): Promise<Value> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what}: not within ${milliseconds} ms`)), milliseconds)
  })
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}

/** Resolves after so many milliseconds. */
export function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds))
}

/** Asks until the answer is true, more and more seldom. @throws {Error} it has not become so in that time */
export async function until(
  what: string,
  isSo: () => boolean | Promise<boolean>,
  milliseconds = PATIENCE
): Promise<void> {
  const end = performance.now() + milliseconds
  for (let wait = 1; !(await isSo()); wait = Math.min(2 * wait, 50)) {
    if (performance.now() > end) throw new Error(`${what}: not within ${milliseconds} ms`)
    await pause(wait)
  }
}

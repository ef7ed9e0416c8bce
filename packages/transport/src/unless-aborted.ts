/** Waits that end when a signal aborts. */
import { type Clock, systemClock } from './durable/clock.ts'

/**
 * Settles as the work does; rejects with the reason of the signal as soon as that aborts.
 * @param giveUp is called then, and ends the work
 */
export function unlessAborted<Value>(
  work: Value | PromiseLike<Value>,
  signal: AbortSignal | undefined,
  giveUp?: () => void
): Promise<Value> {
  return new Promise((resolve, reject) => {
    const aborted = () => {
      reject(signal?.reason)
      giveUp?.()
    }
    if (signal?.aborted === true) aborted()
    signal?.addEventListener('abort', aborted, { once: true })
    const over = () => signal?.removeEventListener('abort', aborted)
    Promise.resolve(work).then(resolve, reject).finally(over)
  })
}

/** Resolves after a time in milliseconds, or as soon as the signal aborts. */
export function paused(milliseconds: number, signal: AbortSignal, clock: Clock = systemClock): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve()
    const end = () => {
      cancel()
      signal.removeEventListener('abort', end)
      resolve()
    }
    const cancel = clock.after(milliseconds, end)
    signal.addEventListener('abort', end)
  })
}

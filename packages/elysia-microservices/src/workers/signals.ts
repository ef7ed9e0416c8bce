/** SIGTERM and SIGINT, for supervisor and workers. */

const SIGNALS = ['SIGTERM', 'SIGINT'] as const

/**
 * Stops when the process is told to end, and ends it. Where the program listens to the signal itself, it may have
 * more to do: then the end is left to it.
 * @returns the function that makes it undone
 */
export function stopOnSignals(stop: () => Promise<unknown>): () => void {
  const leave = async (signal: NodeJS.Signals) => {
    const isOnlyListener = process.listenerCount(signal) === 0
    await stop()
    if (isOnlyListener) process.exit()
  }
  const listeners = SIGNALS.map((signal) => ({ signal, listener: () => void leave(signal) }))
  for (const { signal, listener } of listeners) process.once(signal, listener)
  return () => {
    for (const { signal, listener } of listeners) process.off(signal, listener)
  }
}

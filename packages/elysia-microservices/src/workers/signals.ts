/** SIGTERM and SIGINT, for supervisor and workers. */

const SIGNALS = ['SIGTERM', 'SIGINT'] as const

/**
 * Calls `stop` when a signal tells the process to end, and then ends the process. A program that listens to the
 * signal itself may have more to do, so it has to end the process itself.
 * @returns the function that stops listening to signals
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

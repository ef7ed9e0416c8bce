/** Signals that end the process: what stops first. One listener for all services, so that none cuts off another. */
import { constants } from 'node:os'

/** Signals by which a process can be told to end. */
export type ShutdownSignal = 'SIGTERM' | 'SIGINT' | 'SIGHUP'

/** All of them. */
export const SHUTDOWN_SIGNALS: readonly ShutdownSignal[] = ['SIGTERM', 'SIGINT', 'SIGHUP']

interface Stopping {
  readonly signals: readonly ShutdownSignal[]
  readonly stop: (signal: ShutdownSignal) => Promise<unknown>
}

const all = new Set<Stopping>()
let isLeaving = false
/** A signal has come from outside: a worker that its supervisor tells to stop is sent one by itself. */
let isTold = false

/**
 * Calls `stop` when a signal tells the process to end, and then ends the process; a second signal ends it at once. A
 * program that listens to the signal itself may have more to do, so it has to end the process itself.
 * @returns the function that stops listening to signals
 */
export function stopOnSignals(
  stop: (signal: ShutdownSignal) => Promise<unknown>,
  signals: readonly ShutdownSignal[] = ['SIGTERM', 'SIGINT']
): () => void {
  const stopping = { signals, stop }
  for (const signal of signals) if (!isWanted(signal)) process.on(signal, leave)
  all.add(stopping)
  return () => {
    all.delete(stopping)
    for (const signal of signals) if (!isWanted(signal) && !isLeaving) process.off(signal, leave)
  }
}

function isWanted(signal: ShutdownSignal): boolean {
  return [...all].some(({ signals }) => signals.includes(signal))
}

async function leave(name: NodeJS.Signals, number?: number): Promise<void> {
  const signal = name as ShutdownSignal
  if (isTold && number !== undefined) process.exit(128 + constants.signals[signal])
  if (number !== undefined) isTold = true
  isLeaving = true
  const isOnlyListener = process.listenerCount(signal) === 1
  const told = [...all].filter(({ signals }) => signals.includes(signal))
  await Promise.all(told.map(({ stop }) => stop(signal)))
  if (isOnlyListener) process.exit()
}

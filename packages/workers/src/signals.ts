/**
 * Stops services and apps when a signal tells the process to end. All services share one listener, so that the
 * first service to stop does not end the process while others still work.
 */
import { constants } from 'node:os'
import type { Logger } from '@elysia-microservices/transport/kit'
import { tellIfAlive } from './alive.ts'

/** The signals that can tell a process to end. */
export type ShutdownSignal = 'SIGTERM' | 'SIGINT' | 'SIGHUP'

/** All signals that can tell a process to end. */
export const SHUTDOWN_SIGNALS: readonly ShutdownSignal[] = ['SIGTERM', 'SIGINT', 'SIGHUP']

/** A service or an app that stops at a signal. */
export interface StoppingAt {
  readonly signals: readonly ShutdownSignal[]
  readonly logger: Logger
  /** Called when a signal has arrived. */
  stop(signal: ShutdownSignal): Promise<unknown>
}

const all = new Set<StoppingAt>()
/** Signal listeners of HTTP servers. Such a listener only stops its server and does not end the process. */
const ofServers = new WeakSet<object>()
let isLeaving = false
/**
 * The first signal that has arrived from outside, and when. A worker whose supervisor tells it to stop emits a signal to
 * itself, which does not count.
 */
let told: { readonly signal: ShutdownSignal; readonly at: number } | undefined
/**
 * Milliseconds within which the same signal again counts as the first one: a terminal sends Ctrl-C to all its processes,
 * and npm passes it on to the program, which so gets it twice.
 */
const SAME = 500

/**
 * Calls `stop` when a signal tells the process to end, and then ends the process; a second signal, if it is not only a
 * copy of the first one, ends it at once.
 * A program that listens to the signal itself may have more to do, so the program has to end the process. If the
 * process lives on, a warning in the log names what keeps it alive.
 * @returns the function that stops listening to signals
 */
export function stopOnSignals(stopping: StoppingAt): () => void {
  const { signals } = stopping
  for (const signal of signals) if (!isWanted(signal)) process.on(signal, leave)
  all.add(stopping)
  return () => {
    all.delete(stopping)
    for (const signal of signals) if (!isWanted(signal) && !isLeaving) process.off(signal, leave)
  }
}

/**
 * Calls `listen`, which may start an HTTP server that listens to signals. @returns the signals that the server
 * listens to
 */
export function serverSignals(listen: () => void): ShutdownSignal[] {
  const before = SHUTDOWN_SIGNALS.map((signal) => new Set<unknown>(process.listeners(signal)))
  listen()
  return SHUTDOWN_SIGNALS.filter((signal, index) => {
    const added = process.listeners(signal).filter((listener) => !before[index]?.has(listener))
    for (const listener of added) if (listener !== leave) ofServers.add(listener)
    return added.some((listener) => listener !== leave)
  })
}

function isWanted(signal: ShutdownSignal): boolean {
  return [...all].some(({ signals }) => signals.includes(signal))
}

async function leave(name: NodeJS.Signals, number?: number): Promise<void> {
  const signal = name as ShutdownSignal
  if (number !== undefined) {
    const now = performance.now()
    if (told !== undefined) {
      if (told.signal === signal && now - told.at < SAME) return
      process.exit(128 + constants.signals[signal])
    }
    told = { signal, at: now }
  }
  isLeaving = true
  const isOfProgram = process
    .listeners(signal)
    .some((listener) => listener !== leave && !ofServers.has(listener))
  const stopping = [...all].filter(({ signals }) => signals.includes(signal))
  const failed = await Promise.all(
    stopping.map(({ stop, logger }) =>
      stop(signal).then(
        () => false,
        (error: unknown) => {
          logger.error(`A service or an app has failed to stop after ${signal}`, error)
          return true
        }
      )
    )
  )
  if (!isOfProgram) process.exit(failed.includes(true) ? 1 : 0)
  const [first] = stopping
  if (first !== undefined) tellIfAlive(signal, first.logger)
}

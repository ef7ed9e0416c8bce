/** Starts a server whose engine or database may be down at the moment. */
import {
  type Clock,
  ConnectionError,
  type Logger,
  monotonicClock,
  paused
} from '@elysia-microservices/transport/kit'

/** Milliseconds between two attempts: after the first one, and at most. */
const FIRST_PAUSE = 250
const LONGEST_PAUSE = 5_000

/** How long a start waits. */
export interface Patience {
  /** The service, for the log. */
  readonly title: string
  /** Milliseconds from the first attempt on. */
  readonly wait: number
  /** Aborts when the service is to stop. */
  readonly signal: AbortSignal
  readonly logger: Logger
  readonly clock?: Clock
}

/**
 * Starts a server, again and again while what it connects to cannot be reached.
 * @throws {Error} the start has failed for another reason, or the time is over
 */
export async function startWhenReachable(start: () => Promise<void>, patience: Patience): Promise<void> {
  const { title, wait, signal, logger, clock = monotonicClock } = patience
  const end = clock.now() + wait
  for (let pause = FIRST_PAUSE; ; pause = Math.min(2 * pause, LONGEST_PAUSE)) {
    try {
      return await start()
    } catch (error) {
      const left = end - clock.now()
      const isDown = error instanceof ConnectionError && error.retryable
      if (!isDown || left <= 0 || signal.aborted) throw error
      if (pause === FIRST_PAUSE)
        logger.warn(`${title} waits up to ${wait} ms for its start: ${error.message}`)
      await paused(Math.min(pause, left), signal, clock)
    }
  }
}

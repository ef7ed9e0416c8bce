/** Role of this process in a service with workers. */

/** The part of a process; `'alone'` without `workers`. */
export type Role = 'alone' | 'supervisor' | 'worker'

/** The place that a supervisor gives a worker, by an environment variable. */
export interface WorkerPlace {
  /** The number of the worker, from 1. Its replacement has the same number. */
  readonly worker: number
  /** The places that the service's transports share among its workers, one for each. */
  readonly shared: readonly unknown[]
}

/** Under Bun the kernel spreads connections over the workers, on Node `node:cluster` does. */
export const UNDER_BUN = process.versions['bun'] !== undefined

const VARIABLE = 'ELYSIA_MICROSERVICES_WORKER'

let place: WorkerPlace | undefined
let isRead = false

/** The place that the supervisor has given to this worker; `undefined` in a process that is no worker. */
export function placeOfWorker(): WorkerPlace | undefined {
  if (isRead) return place
  isRead = true
  const text = process.env[VARIABLE]
  // Processes that a worker starts would inherit it, and take themselves for workers.
  delete process.env[VARIABLE]
  if (text !== undefined && process.send !== undefined) {
    place = JSON.parse(text) as WorkerPlace
    if (UNDER_BUN) endWithSupervisor()
  }
  return place
}

const endAtOnce = () => process.exit(1)

/**
 * Until it follows its supervisor, a worker has nothing in flight. Under Bun it would outlive a supervisor that is
 * killed, if its program waits for something before `listen()`; workers of `node:cluster` end by themselves.
 */
function endWithSupervisor(): void {
  process.once('disconnect', endAtOnce)
  // The listener alone must not keep a worker alive whose program has come to its end.
  process.channel?.unref()
}

/** The worker follows its supervisor from now on, and ends its work when that is gone. */
export function endByItself(): void {
  process.off('disconnect', endAtOnce)
  process.channel?.ref()
}

/** The environment that makes a process a worker. */
export function environmentOf(given: WorkerPlace): Record<string, string> {
  return { [VARIABLE]: JSON.stringify(given) }
}

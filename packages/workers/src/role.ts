/** The role of this process in a service with workers. */

/** The role of a process: `'alone'` in a service without `workers`. */
export type Role = 'alone' | 'supervisor' | 'worker'

/** The data that a supervisor gives to a worker in an environment variable. */
export interface WorkerPlace {
  /** The number of the worker, from 1. Its replacement has the same number. */
  readonly worker: number
  /** One value for each transport of the service: the resource that the workers share, such as a port. */
  readonly shared: readonly unknown[]
}

/** Under Bun the kernel spreads connections over the workers. On Node `node:cluster` does so. */
export const UNDER_BUN = process.versions['bun'] !== undefined

const VARIABLE = 'ELYSIA_MICROSERVICES_WORKER'

let place: WorkerPlace | undefined
let isRead = false

/** The data that the supervisor has given to this worker; `undefined` in a process that is no worker. */
export function placeOfWorker(): WorkerPlace | undefined {
  if (isRead) return place
  isRead = true
  const text = process.env[VARIABLE]
  // Processes that a worker starts would inherit the variable, and take themselves for workers.
  delete process.env[VARIABLE]
  if (text !== undefined && process.send !== undefined) {
    place = JSON.parse(text) as WorkerPlace
    if (UNDER_BUN) endWithSupervisor()
  }
  return place
}

const endAtOnce = () => process.exit(1)

/**
 * Ends this process when its supervisor is gone. A worker has nothing in flight until `followSupervisor()` is
 * called, so the process can end at once. This is needed under Bun only: there a worker whose program waits for
 * something before `listen()` would outlive a supervisor that is killed. Workers of `node:cluster` end by
 * themselves.
 */
function endWithSupervisor(): void {
  process.once('disconnect', endAtOnce)
  // Without `unref()` the listener alone would keep a worker alive whose program has come to its end.
  process.channel?.unref()
}

/**
 * Removes the listener of `endWithSupervisor()`: from now on `followSupervisor()` decides what happens when the
 * supervisor is gone.
 */
export function endByItself(): void {
  process.off('disconnect', endAtOnce)
  process.channel?.ref()
}

/** The environment variable that makes a new process a worker. */
export function environmentOf(given: WorkerPlace): Record<string, string> {
  return { [VARIABLE]: JSON.stringify(given) }
}

let isReplaced = false

/** Called when another process has taken the place of this worker, before this worker stops. */
export function markReplaced(): void {
  isReplaced = true
}

/** Whether this process is a worker that stops because another process has taken its place. */
export function isReplacedWorker(): boolean {
  return isReplaced
}

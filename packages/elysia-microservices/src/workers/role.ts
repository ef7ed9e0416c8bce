/** Which part this process plays in a service with workers. */

/** What a process of such a service is; `alone` without `workers`. */
export type Role = 'alone' | 'supervisor' | 'worker'

/** What a supervisor tells a worker when it starts it. */
export interface WorkerPlace {
  /** Which of the workers it is, from 1. One that is started in place of another has its number. */
  readonly worker: number
  /** What each of the service's transports shares among its workers. */
  readonly shared: readonly unknown[]
}

/** Under Bun the kernel spreads connections over the workers, on Node `node:cluster` does. */
export const UNDER_BUN = process.versions['bun'] !== undefined

const VARIABLE = 'ELYSIA_MICROSERVICES_WORKER'

let place: WorkerPlace | undefined
let isRead = false

/** What the supervisor of this process has told it; `undefined` if it has none, and is one. */
export function placeOfWorker(): WorkerPlace | undefined {
  if (isRead) return place
  isRead = true
  const text = process.env[VARIABLE]
  // Processes that a worker starts are none, but would inherit it.
  delete process.env[VARIABLE]
  if (text !== undefined && process.send !== undefined) place = JSON.parse(text) as WorkerPlace
  return place
}

/** What makes a process a worker. */
export function environmentOf(given: WorkerPlace): Record<string, string> {
  return { [VARIABLE]: JSON.stringify(given) }
}

/**
 * The exports that each process of a service needs at its start. A supervisor's and a worker's own have entries of
 * their own.
 */
export { checkWorkers, countOf, type Workers } from './option.ts'
export { placeOfWorker, type Role, type WorkerPlace } from './role.ts'
export {
  SHUTDOWN_SIGNALS,
  type ShutdownSignal,
  type StoppingAt,
  serverSignals,
  stopOnSignals
} from './signals.ts'
export type { WorkerFigures } from './supervisor.ts'

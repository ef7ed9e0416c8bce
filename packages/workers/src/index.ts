/**
 * The exports that every process of a service loads at its start. The code of a supervisor and of a worker has
 * separate entry points.
 */
export { checkWorkers, countOf, type Workers } from './option.ts'
export { isReplacedWorker, placeOfWorker, type Role, type WorkerPlace } from './role.ts'
export {
  SHUTDOWN_SIGNALS,
  type ShutdownSignal,
  type StoppingAt,
  serverSignals,
  stopOnSignals
} from './signals.ts'
export type { WorkerFigures } from './supervisor.ts'

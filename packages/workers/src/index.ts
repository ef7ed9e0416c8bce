/** What each process of a service asks at its start. What only a supervisor or a worker needs has entries of its own. */
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

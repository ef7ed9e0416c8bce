/**
 * `elysia-microservices/testing`: a clock that a test sets, and faults on purpose. The transport for tests, `memory()`,
 * is in the main entry.
 */
export { type Clock, ManualClock, type MemoryOptions } from '@elysia-microservices/transport'
export type { ChaosOptions, ChaosRule } from './chaos/options.ts'

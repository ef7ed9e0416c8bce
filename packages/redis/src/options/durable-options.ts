/** The option `durable` of `redis()`: storage of events. */
import { checkWindow, STORAGE } from '@elysia-microservices/transport/engine'
import { type FromTable, mustBeWhole, type OptionTable, readTable } from '@elysia-microservices/transport/kit'

/** Storage of durable events in Redis Streams. */
export interface RedisDurableOptions {
  /** Milliseconds that events are kept, also those that no group has done; 0: for ever. Default: 7 days. */
  readonly maxAge?: number | undefined
  /** Milliseconds in which an id is stored once. Default: 120,000. */
  readonly duplicateWindow?: number | undefined
  /**
   * Milliseconds after which a process that gives no sign of life has lost its events to others; handlers may take
   * longer. Default: 30,000.
   */
  readonly ackWait?: number | undefined
  /**
   * Copies of an event, with that of the master, before `publish` resolves: an event with two outlives a failover.
   * Default: 1.
   */
  readonly replicas?: number | undefined
}

/** All of them. */
export const REDIS_DURABLE = {
  ...STORAGE,
  replicas: { byDefault: 1, check: mustBeWhole(1, 1_000) }
} as const satisfies OptionTable<RedisDurableOptions>

/** Checked, with defaults. */
export type DurableStorage = FromTable<RedisDurableOptions, typeof REDIS_DURABLE>

/** @throws {OptionError} an option is invalid */
export function durableStorage(given: RedisDurableOptions | undefined): DurableStorage {
  const storage = readTable('options.durable', given, REDIS_DURABLE)
  checkWindow('options.durable', storage)
  return storage
}

/** How events are stored: the option `durable` of `redis()`. */
import { checkWindow, STORAGE } from '@elysia-microservices/transport/engine'
import { type FromTable, type OptionTable, readTable } from '@elysia-microservices/transport/kit'

/** How durable events are stored in Redis Streams. */
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
}

/** All of them. */
export const REDIS_DURABLE = STORAGE satisfies OptionTable<RedisDurableOptions>

/** Checked, with defaults. */
export type DurableStorage = FromTable<RedisDurableOptions, typeof REDIS_DURABLE>

/** @throws {OptionError} an option is invalid */
export function durableStorage(given: RedisDurableOptions | undefined): DurableStorage {
  const storage = readTable('options.durable', given, REDIS_DURABLE)
  checkWindow('options.durable', storage)
  return storage
}

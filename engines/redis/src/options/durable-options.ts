/** The option `durable` of `redis()`: how events are stored. */
import { checkWindow, STORAGE } from '@elysia-microservices/engine'
import { type FromTable, mustBeWhole, type OptionTable, readTable } from '@elysia-microservices/transport/kit'

/** How durable events are stored in Redis Streams. */
export interface RedisDurableOptions {
  /** Milliseconds for which events are kept, whether or not they were handled; `false`: for ever. Default: 7 days. */
  readonly maxAge?: number | false | undefined
  /** Milliseconds within which an event with the same id is not stored again. Default: 120,000. */
  readonly duplicateWindow?: number | undefined
  /**
   * Milliseconds after which the events of a process go to another process, if the process sends nothing. A process
   * sends regularly while its handlers run, so handlers may take longer. Default: 30,000.
   */
  readonly ackWait?: number | undefined
  /**
   * Copies of an event, including the master's, before `publish` resolves: with two, the event survives a failover.
   * Default: 1.
   */
  readonly replicas?: number | undefined
}

/** The table of all options. */
export const REDIS_DURABLE = {
  ...STORAGE,
  replicas: { byDefault: 1, check: mustBeWhole(1, 1_000) }
} as const satisfies OptionTable<RedisDurableOptions>

/** The checked options, with their defaults. */
export type DurableStorage = Omit<FromTable<RedisDurableOptions, typeof REDIS_DURABLE>, 'maxAge'> & {
  /** 0: for ever. */
  readonly maxAge: number
}

/** @throws {OptionError} an option is invalid */
export function durableStorage(given: RedisDurableOptions | undefined): DurableStorage {
  const storage = readTable('options.durable', given, REDIS_DURABLE)
  checkWindow('options.durable', storage)
  return { ...storage, maxAge: Number(storage.maxAge) }
}

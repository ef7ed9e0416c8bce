/** How events are stored: the option `durable` of `redis()`. */
import { atLeast, checkNames, milliseconds, OptionError } from '@elysia-microservices/transport/kit'

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
  /**
   * Copies of an event, with that of the master, before `publish` resolves: an event with two outlives a failover.
   * Default: 1.
   */
  readonly replicas?: number | undefined
}

/** Checked, with defaults. */
export type DurableStorage = Readonly<Record<keyof RedisDurableOptions, number>>

const DEFAULTS: DurableStorage = {
  maxAge: 7 * 24 * 60 * 60 * 1_000,
  duplicateWindow: 120_000,
  ackWait: 30_000,
  replicas: 1
}

/** @throws {OptionError} an option is invalid */
export function durableStorage(given: RedisDurableOptions | undefined): DurableStorage {
  const path = 'options.durable'
  if (given !== undefined) checkNames(path, given, Object.keys(DEFAULTS))
  const set = Object.fromEntries(Object.entries(given ?? {}).filter(([, value]) => value !== undefined))
  const options = { ...DEFAULTS, ...set } as DurableStorage
  atLeast(0, `${path}.maxAge`, options.maxAge)
  if (!Number.isSafeInteger(options.maxAge))
    throw OptionError.expected(`${path}.maxAge`, 'a whole number of milliseconds', options.maxAge)
  milliseconds(100, `${path}.duplicateWindow`, options.duplicateWindow)
  milliseconds(500, `${path}.ackWait`, options.ackWait)
  atLeast(1, `${path}.replicas`, options.replicas)
  if (!Number.isSafeInteger(options.replicas))
    throw OptionError.expected(`${path}.replicas`, 'a whole number of copies', options.replicas)
  if (options.maxAge !== 0 && options.maxAge < options.duplicateWindow)
    throw new OptionError(`${path}.duplicateWindow`, `${path}.duplicateWindow must not be longer than maxAge`)
  return options
}

/** The option `durable` of `nats()`: storage of events. */
import { checkWindow, STORAGE } from '@elysia-microservices/transport/engine'
import {
  type FromTable,
  mustBe,
  mustBeAtLeast,
  mustBeOneOf,
  mustBeWhole,
  type OptionTable,
  readTable,
  withoutUndefined
} from '@elysia-microservices/transport/kit'

/** Storage of durable events in JetStream. Streams that are there already are used as they are. */
export interface NatsDurableOptions {
  /**
   * A stream for many patterns: its name, and the subjects it stores (with `*` and `>`). What else is published has a
   * stream of its own, named after its pattern. Default: none.
   */
  readonly stream?: { readonly name: string; readonly subjects: readonly string[] } | undefined
  /** Default: `'file'`. */
  readonly storage?: 'file' | 'memory' | undefined
  /** Servers of a cluster that each have a copy. Default: 1. */
  readonly replicas?: number | undefined
  /** Milliseconds that events are kept, also those that no group has done; 0: for ever. Default: 7 days. */
  readonly maxAge?: number | undefined
  /** Bytes of a stream, beyond which nothing is stored; 0: no limit. Default: 0. */
  readonly maxBytes?: number | undefined
  /** Milliseconds in which an id is stored once. Default: 120,000. */
  readonly duplicateWindow?: number | undefined
  /**
   * Milliseconds after which a process that gives no sign of life has lost its events to others; handlers may take
   * longer. Default: 30,000.
   */
  readonly ackWait?: number | undefined
}

/** A stream for many patterns. */
type Shared = NonNullable<NatsDurableOptions['stream']>

const STREAM = {
  name: { check: mustBe('a text of letters, digits, - and _', isStreamName), isNeeded: true },
  subjects: { check: mustBe("a list of subjects such as 'orders.*'", isListOfSubjects), isNeeded: true }
} as const satisfies OptionTable<Shared>

/** All of them. */
export const NATS_DURABLE = {
  stream: {
    check: (path, value) => void readTable(path, value as Shared, STREAM)
  },
  storage: { byDefault: 'file', check: mustBeOneOf('file', 'memory') },
  replicas: { byDefault: 1, check: mustBeWhole(1, 5) },
  ...STORAGE,
  // NATS counts in nanoseconds, and JSON has no whole numbers beyond 2 ** 53.
  maxBytes: { byDefault: 0, check: mustBeAtLeast(0) }
} as const satisfies OptionTable<NatsDurableOptions>

/** Checked. What the user has set is in `set`: only that is compared with streams that are there. */
export interface DurableStorage extends FromTable<NatsDurableOptions, typeof NATS_DURABLE> {
  readonly set: ReadonlySet<string>
}

/** @throws {OptionError} an option is invalid */
export function durableStorage(given: NatsDurableOptions = {}): DurableStorage {
  const storage = readTable('options.durable', given, NATS_DURABLE)
  checkWindow('options.durable', storage)
  return { ...storage, set: new Set(Object.keys(withoutUndefined(given))) }
}

function isStreamName(value: unknown): boolean {
  return typeof value === 'string' && /^[A-Za-z0-9_-]+$/.test(value)
}

function isListOfSubjects(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0 && value.every(isSubject)
}

function isSubject(subject: unknown): boolean {
  return typeof subject === 'string' && /^[^\s.]+(\.[^\s.]+)*$/.test(subject) && !/^[>*_$]/.test(subject)
}

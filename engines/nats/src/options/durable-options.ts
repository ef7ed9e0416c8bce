/** The option `durable` of `nats()`: how events are stored. */
import { checkWindow, STORAGE } from '@elysia-microservices/engine'
import {
  type FromTable,
  mustBe,
  mustBeAtLeast,
  mustBeOneOf,
  mustBeWhole,
  type OptionTable,
  readTable,
  unlessFalse,
  withoutUndefined
} from '@elysia-microservices/transport/kit'

/** How durable events are stored in JetStream. Streams that exist already are used with their settings. */
export interface NatsDurableOptions {
  /**
   * A stream for many patterns: its name, and the subjects it stores (with `*` and `>`). Events of other patterns are
   * stored in a stream for each pattern, named after the pattern. Default: none.
   */
  readonly stream?: { readonly name: string; readonly subjects: readonly string[] } | undefined
  /** Where JetStream keeps the events. Default: `'file'`. */
  readonly storage?: 'file' | 'memory' | undefined
  /** Servers of a cluster that each keep a copy. Default: 1. */
  readonly replicas?: number | undefined
  /** Milliseconds for which events are kept, whether or not they were handled; `false`: for ever. Default: 7 days. */
  readonly maxAge?: number | false | undefined
  /** The size of a stream in bytes; a full stream stores no more events. Default: `false`, no limit. */
  readonly maxBytes?: number | false | undefined
  /** Milliseconds within which an event with the same id is not stored again. Default: 120,000. */
  readonly duplicateWindow?: number | undefined
  /**
   * Milliseconds after which JetStream gives the events of a process to another process, if the process sends
   * nothing. A process sends regularly while its handlers run, so handlers may take longer. Default: 30,000.
   */
  readonly ackWait?: number | undefined
}

/** A stream for many patterns. */
type Shared = NonNullable<NatsDurableOptions['stream']>

const STREAM = {
  name: { check: mustBe('a text of letters, digits, - and _', isStreamName), isNeeded: true },
  subjects: { check: mustBe("a list of subjects such as 'orders.*'", isListOfSubjects), isNeeded: true }
} as const satisfies OptionTable<Shared>

/** The table of all options. */
export const NATS_DURABLE = {
  stream: {
    check: (path, value) => void readTable(path, value as Shared, STREAM)
  },
  storage: { byDefault: 'file', check: mustBeOneOf('file', 'memory') },
  replicas: { byDefault: 1, check: mustBeWhole(1, 5) },
  ...STORAGE,
  // Numbers in JSON are exact up to 2 ** 53 only, and NATS counts in nanoseconds.
  maxBytes: { byDefault: false, check: unlessFalse(mustBeAtLeast(1)) }
} as const satisfies OptionTable<NatsDurableOptions>

/** The checked options. `set` has the options that the user has set: only these are compared with existing streams. */
export interface DurableStorage
  extends Omit<FromTable<NatsDurableOptions, typeof NATS_DURABLE>, 'maxAge' | 'maxBytes'> {
  /** 0: for ever. */
  readonly maxAge: number
  /** 0: no limit. */
  readonly maxBytes: number
  readonly set: ReadonlySet<string>
}

/** @throws {OptionError} an option is invalid */
export function durableStorage(given: NatsDurableOptions = {}): DurableStorage {
  const storage = readTable('options.durable', given, NATS_DURABLE)
  checkWindow('options.durable', storage)
  return {
    ...storage,
    maxAge: Number(storage.maxAge),
    maxBytes: Number(storage.maxBytes),
    set: new Set(Object.keys(withoutUndefined(given)))
  }
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

/** How events are stored: the option `durable` of `nats()`. */
import { atLeast, checkNames, milliseconds, OptionError } from '@elysia-microservices/transport/kit'

/** How durable events are stored by JetStream. Streams that are there already are used as they are. */
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

/** Checked. What the user has set is in `set`: only that is compared with streams that are there. */
export interface DurableStorage {
  readonly stream: { readonly name: string; readonly subjects: readonly string[] } | undefined
  readonly storage: 'file' | 'memory'
  readonly replicas: number
  readonly maxAge: number
  readonly maxBytes: number
  readonly duplicateWindow: number
  readonly ackWait: number
  readonly set: ReadonlySet<string>
}

const DEFAULTS = {
  storage: 'file' as const,
  replicas: 1,
  maxAge: 7 * 24 * 60 * 60 * 1_000,
  maxBytes: 0,
  duplicateWindow: 120_000,
  ackWait: 30_000
}

/** @throws {OptionError} an option is invalid */
export function durableStorage(given: NatsDurableOptions | undefined): DurableStorage {
  const path = 'options.durable'
  if (given !== undefined) checkNames(path, given, ['stream', ...Object.keys(DEFAULTS)])
  const set = Object.fromEntries(Object.entries(given ?? {}).filter(([, value]) => value !== undefined))
  const options = {
    stream: undefined,
    ...DEFAULTS,
    ...(set as Partial<NatsDurableOptions>)
  } as DurableStorage
  if (options.storage !== 'file' && options.storage !== 'memory')
    throw OptionError.expected(`${path}.storage`, "'file' or 'memory'", options.storage)
  if (![1, 2, 3, 4, 5].includes(options.replicas))
    throw OptionError.expected(`${path}.replicas`, 'a whole number from 1 to 5', options.replicas)
  // NATS counts in nanoseconds, and JSON has no whole numbers beyond 2 ** 53.
  atLeast(0, `${path}.maxAge`, options.maxAge)
  atLeast(0, `${path}.maxBytes`, options.maxBytes)
  milliseconds(100, `${path}.duplicateWindow`, options.duplicateWindow)
  milliseconds(500, `${path}.ackWait`, options.ackWait)
  if (options.maxAge !== 0 && options.maxAge < options.duplicateWindow)
    throw new OptionError(`${path}.duplicateWindow`, `${path}.duplicateWindow must not be longer than maxAge`)
  const { stream } = options
  if (stream !== undefined) {
    checkNames(`${path}.stream`, stream, ['name', 'subjects'])
    if (typeof stream.name !== 'string' || !/^[A-Za-z0-9_-]+$/.test(stream.name))
      throw OptionError.expected(`${path}.stream.name`, 'a text of letters, digits, - and _', stream.name)
    if (!Array.isArray(stream.subjects) || stream.subjects.length === 0 || !stream.subjects.every(isSubject))
      throw OptionError.expected(
        `${path}.stream.subjects`,
        "a list of subjects such as 'orders.*'",
        stream.subjects
      )
  }
  return { ...options, set: new Set(Object.keys(set)) }
}

function isSubject(subject: unknown): boolean {
  return typeof subject === 'string' && /^[^\s.]+(\.[^\s.]+)*$/.test(subject) && !/^[>*_$]/.test(subject)
}

/** The options of `sqlite()`. */
import { checkWindow, STORAGE } from '@elysia-microservices/engine'
import {
  type Clock,
  type FromTable,
  mustBe,
  mustBeAtLeast,
  OptionError,
  type OptionTable,
  readTable,
  systemClock,
  unlessFalse
} from '@elysia-microservices/transport/kit'

/** How events are kept in a file. */
export interface SqliteOptions {
  /** Milliseconds for which events are kept, whether or not they were handled; `false`: for ever. Default: 7 days. */
  readonly maxAge?: number | false | undefined
  /**
   * Bytes of events that are kept; in a full file `publish` rejects with a `NotStoredError`. Default: `false`, no limit.
   */
  readonly maxBytes?: number | false | undefined
  /** Milliseconds within which an event with the same id is not stored again. Default: 120,000. */
  readonly duplicateWindow?: number | undefined
  /** The clock for retries, ages and events of the future. Default: the system's clock. */
  readonly clock?: Clock | undefined
}

/** The table of all options. */
export const SQLITE_OPTIONS = {
  maxAge: STORAGE.maxAge,
  maxBytes: { byDefault: false, check: unlessFalse(mustBeAtLeast(1)) },
  duplicateWindow: STORAGE.duplicateWindow,
  clock: {
    check: mustBe(
      'a clock, such as new ManualClock()',
      (clock) => typeof (clock as Clock).now === 'function' && typeof (clock as Clock).after === 'function'
    )
  }
} as const satisfies OptionTable<SqliteOptions>

/** The checked options, with their defaults. */
export interface CheckedOptions
  extends Omit<FromTable<SqliteOptions, typeof SQLITE_OPTIONS>, 'maxAge' | 'maxBytes' | 'clock'> {
  /** The file, or `:memory:`. */
  readonly file: string
  /** 0: for ever. */
  readonly maxAge: number
  /** 0: no limit. */
  readonly maxBytes: number
  readonly clock: Clock
}

/** @throws {OptionError} the file or an option is invalid */
export function sqliteOptions(file: string, given: SqliteOptions | undefined): CheckedOptions {
  if (typeof file !== 'string' || file === '' || file.includes('\0'))
    throw OptionError.expected('file', "the name of a file, such as 'events.db', or ':memory:'", file)
  if (/^file:/i.test(file))
    throw new OptionError('file', `'${file}' is an address of a file: give its name, such as 'events.db'`)
  const all = readTable<SqliteOptions, typeof SQLITE_OPTIONS>('options', given, SQLITE_OPTIONS)
  checkWindow('options', all)
  return {
    ...all,
    file,
    maxAge: Number(all.maxAge),
    maxBytes: Number(all.maxBytes),
    clock: all.clock ?? systemClock
  }
}

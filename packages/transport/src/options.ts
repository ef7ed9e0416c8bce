/** Checks that all options share: for unknown names, defaults and numbers. */
import { OptionError } from './errors/index.ts'

/**
 * As `filled`, and a number or a boolean may be given as text.
 * @param path the name of the options in error messages
 * @param same see `SAME_OPTIONS`. Default: none
 * @throws {OptionError} `given` is not an object, or has an option that the table lacks
 */
export function withDefaults<Options extends object, Defaults extends object>(
  path: string,
  given: Options | undefined,
  defaults: Defaults,
  same?: typeof SAME_OPTIONS
): Filled<Options, Defaults> {
  const values: Record<string, unknown> = filled(path, given, defaults, same)
  for (const [name, byDefault] of Object.entries(defaults))
    if (typeof byDefault === 'number' || typeof byDefault === 'boolean') values[name] = read(values[name])
  return values as Filled<Options, Defaults>
}

/**
 * Fills in the default of each option that is missing or `undefined`. The table of defaults names all options; an
 * option without a default is `undefined` there. Pages load no more than this: they have no environment.
 * @param path the name of the options in error messages
 * @param same see `SAME_OPTIONS`. Default: none
 * @throws {OptionError} `given` is not an object, or has an option that the table lacks
 */
export function filled<Options extends object, Defaults extends object>(
  path: string,
  given: Options | undefined,
  defaults: Defaults,
  same?: typeof SAME_OPTIONS
): Filled<Options, Defaults> {
  if (given !== undefined) checkNames(path, given, Object.keys(defaults), same)
  return { ...defaults, ...withoutUndefined(given ?? {}) } as Filled<Options, Defaults>
}

/**
 * Reads the text of a number or a boolean, as `process.env` and Nest's `ConfigService` have them, whatever type the
 * compiler believes in. Every other value stays as it is.
 */
function read(value: unknown): unknown {
  if (value === 'true' || value === 'false') return value === 'true'
  return typeof value === 'string' && /^\s*\d+(\.\d+)?\s*$/.test(value) ? Number(value) : value
}

/** The options that have a value. */
export function withoutUndefined<Options extends object>(options: Options): Partial<Options> {
  const entries = Object.entries(options).filter(([, value]) => value !== undefined)
  return Object.fromEntries(entries) as Partial<Options>
}

/**
 * Checks the value of an option.
 * @param path the name of the option in error messages
 * @throws {OptionError} the value is invalid
 */
export type OptionCheck = (path: string, value: unknown) => void

/** One option of a group: a row of the table from which defaults, checks, hints and the documentation are made. */
export interface OptionRow<Value> {
  /** The value if the user gives none; missing if there is no default. */
  readonly byDefault?: Value
  /** Checks the value that the user gives, or the default. */
  readonly check?: OptionCheck
  /** The option must have a value: without a value, `check` is called with `undefined`. Default: false. */
  readonly isNeeded?: true
  /** An empty text means that the option is not given, as `process.env.PASSWORD ?? ''`. Default: false. */
  readonly emptyIsNone?: true
}

/** A table with a row for each option of a group. The compiler reports an option without a row. */
export type OptionTable<Options extends object> = {
  readonly [Name in keyof Options]-?: OptionRow<Exclude<Options[Name], undefined>>
}

/**
 * Checks options by their table and fills in its defaults. A text that an option refuses is read as the number or the
 * boolean that it stands for.
 * @param path the name of the options in error messages
 * @throws {OptionError} an option is not in the table, or has an invalid value
 */
export function readTable<Options extends object, Table extends OptionTable<Options>>(
  path: string,
  given: Options | undefined,
  table: Table
): FromTable<Options, Table> {
  const rows = Object.entries<OptionRow<unknown>>(table)
  const defaults = Object.fromEntries(rows.map(([name, { byDefault }]) => [name, byDefault]))
  const values = withDefaults<Options, object>(path, given, defaults, SAME_OPTIONS) as Record<string, unknown>
  for (const [name, { byDefault, check, isNeeded, emptyIsNone }] of rows) {
    if (emptyIsNone === true && values[name] === '') values[name] = byDefault
    if (values[name] !== undefined || isNeeded) values[name] = checked(check, `${path}.${name}`, values[name])
  }
  return values as FromTable<Options, Table>
}

/** The value, or what its text stands for, if the check accepts only that. @throws {OptionError} it accepts neither */
function checked(check: OptionCheck | undefined, path: string, value: unknown): unknown {
  try {
    check?.(path, value)
    return value
  } catch (error) {
    const meant = read(value)
    if (meant === value) throw error
    check?.(path, meant)
    return meant
  }
}

/** The type of options after `readTable`: every option with a default in the table is present. */
export type FromTable<Options, Table> = {
  readonly [Name in keyof Options & keyof Table]: Table[Name] extends { readonly byDefault: unknown }
    ? Exclude<Options[Name], undefined>
    : Options[Name]
}

/** The type of options after `withDefaults`: every option with a default is present. */
export type Filled<Options, Defaults> = {
  readonly [Key in keyof Options & keyof Defaults as Defaults[Key] extends undefined
    ? never
    : Key]-?: Exclude<Options[Key], undefined>
} & {
  readonly [Key in keyof Options as Key extends keyof Defaults
    ? Defaults[Key] extends undefined
      ? Key
      : never
    : Key]?: Options[Key]
}

/** The names that other libraries have for an option, some of which look like another option: `ssl` is not `sasl`. */
export const SAME_OPTIONS: Readonly<Record<string, string | undefined>> = {
  tls: 'ssl',
  connectTimeout: 'timeout',
  url: 'urls servers brokers endpoints',
  group: 'queue queueGroup',
  clientName: 'connectionName clientId name',
  username: 'user',
  password: 'pass',
  replyTo: 'replyTopics'
}

/** @throws {OptionError} `given` is not an object, or has an unknown name */
export function checkNames(
  path: string,
  given: unknown,
  known: readonly string[],
  same: typeof SAME_OPTIONS = {}
): asserts given is object {
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw OptionError.expected(path, 'an object of options', given)
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || known.includes(name)) continue
    const near = known.find((own) => same[own]?.split(' ').includes(name)) ?? nearest(name, known)
    const hint = near === undefined ? `there are ${known.join(', ')}` : `did you mean ${path}.${near}?`
    throw new OptionError(`${path}.${name}`, `${path}.${name} is not an option; ${hint}`)
  }
}

/** @throws {OptionError} the value is not a number, or less than `least` */
export function atLeast(least: number, path: string, value: unknown): void {
  if (typeof value === 'number' && value >= least) return
  throw OptionError.expected(path, `a number, ${least} or more`, value)
}

/** Longest time of a timer in milliseconds, 24.8 days: with a longer time, runtimes fire the timer at once. */
export const LONGEST_TIME = 2 ** 31 - 1

/** @throws {OptionError} the value is not a time that a timer can have, or less than `least` */
export function milliseconds(least: number, path: string, value: unknown): void {
  if (typeof value === 'number' && value >= least && value <= LONGEST_TIME) return
  throw OptionError.expected(path, `milliseconds from ${least} to 24.8 days`, value)
}

/** Makes a check. `words` describe the right value in the error. */
// @__NO_SIDE_EFFECTS__
export function mustBe(words: string, isRight: (value: unknown) => boolean): OptionCheck {
  return (path, value) => {
    if (!isRight(value)) throw OptionError.expected(path, words, value)
  }
}

/** Checks that a value is a boolean. */
export function mustBeBoolean(path: string, value: unknown): void {
  if (typeof value !== 'boolean') throw OptionError.expected(path, 'a boolean', value)
}

/** Checks that a value is a function. */
export function mustBeFunction(path: string, value: unknown): void {
  if (typeof value !== 'function') throw OptionError.expected(path, 'a function', value)
}

/** Checks that a value is a text that is not empty. */
export function mustBeText(path: string, value: unknown): void {
  if (typeof value !== 'string' || value === '')
    throw OptionError.expected(path, 'a text that is not empty', value)
}

/** Checks a secret like `mustBeText`, but leaves the value out of the error. */
export function mustBeSecret(path: string, value: unknown): void {
  mustBeText(path, typeof value === 'string' ? value : undefined)
}

/** Makes a check that a value is one of these texts. */
// @__NO_SIDE_EFFECTS__
export function mustBeOneOf(...texts: readonly string[]): OptionCheck {
  const words = texts.map((text) => `'${text}'`).join(' or ')
  return mustBe(words, (value) => texts.includes(value as string))
}

/** Makes a check of a number with `atLeast`. */
// @__NO_SIDE_EFFECTS__
export function mustBeAtLeast(least: number): OptionCheck {
  return (path, value) => atLeast(least, path, value)
}

/** The timeout of calls by default, in milliseconds. */
const DEFAULT_TIMEOUT = 30_000

/** Checks the times of calls. @throws {OptionError} one of them is invalid */
export function checkTimes(times: {
  readonly timeout?: unknown
  readonly waitForConnection?: unknown
  readonly lifetime?: unknown
}): void {
  const { timeout = false, waitForConnection = 0, lifetime = 1 } = times
  if (timeout !== false && !(typeof timeout === 'number' && timeout > 0))
    throw OptionError.expected('options.timeout', 'milliseconds, or false for no limit', timeout)
  if (!(typeof waitForConnection === 'number' && waitForConnection >= 0))
    throw OptionError.expected('options.waitForConnection', 'milliseconds, 0 for none', waitForConnection)
  if (!(typeof lifetime === 'number' && lifetime > 0))
    throw OptionError.expected('options.lifetime', 'milliseconds', lifetime)
}

/** The timeout of a client as transports have it: 0 for no limit. @param byDefault if none is given */
export function timeoutOf(given: number | false | undefined, byDefault: number = DEFAULT_TIMEOUT): number {
  return (given ?? byDefault) || 0
}

/** Makes a check of a time with `milliseconds`. */
// @__NO_SIDE_EFFECTS__
export function mustBeMilliseconds(least: number): OptionCheck {
  return (path, value) => milliseconds(least, path, value)
}

/** Makes a check that also accepts `false`, which means no limit. */
export function unlessFalse(check: OptionCheck): OptionCheck {
  return (path, value) => {
    if (value === false) return
    try {
      check(path, value)
    } catch (error) {
      throw error instanceof OptionError
        ? new OptionError(path, `${error.message}; false means no limit`)
        : error
    }
  }
}

/** Makes a check of a whole number within limits. */
// @__NO_SIDE_EFFECTS__
export function mustBeWhole(least: number, most: number): OptionCheck {
  const isWithin = (value: unknown) =>
    Number.isInteger(value) && least <= Number(value) && Number(value) <= most
  return mustBe(`a whole number from ${least} to ${most.toLocaleString('en')}`, isWithin)
}

/** Makes a check of an object of options by their names alone. */
// @__NO_SIDE_EFFECTS__
export function mustHaveOnly(...known: readonly string[]): OptionCheck {
  return (path, value) => checkNames(path, value, known)
}

/** The known name that is most similar to `name`; `undefined` if no name is similar enough. */
export function nearest(name: string, known: readonly string[]): string | undefined {
  const scored = known.map((other) => ({
    other,
    distance: distance(name.toLowerCase(), other.toLowerCase())
  }))
  const [best] = scored.sort((a, b) => a.distance - b.distance)
  return best !== undefined && best.distance <= Math.max(2, name.length / 3) ? best.other : undefined
}

/** Number of letters to insert, remove or replace to turn one word into the other (Levenshtein). */
function distance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index)
  for (let i = 1; i <= one.length; i++) {
    const next = [i]
    for (let j = 1; j <= other.length; j++) {
      const replaced = (row[j - 1] as number) + (one[i - 1] === other[j - 1] ? 0 : 1)
      next.push(Math.min((row[j] as number) + 1, (next[j - 1] as number) + 1, replaced))
    }
    row = next
  }
  return row[other.length] as number
}

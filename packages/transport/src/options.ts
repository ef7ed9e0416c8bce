/** Checks that all options share: unknown names, defaults, numbers. */
import { OptionError } from './errors/index.ts'

/**
 * Fills in the defaults of options, also where an option is `undefined`. The table of defaults names all options; an
 * option without a default is `undefined` there.
 * @param path the name of the options in error messages
 * @throws {OptionError} `given` is no object, or the table lacks one of its options
 */
export function withDefaults<Options extends object, Defaults extends object>(
  path: string,
  given: Options | undefined,
  defaults: Defaults
): Filled<Options, Defaults> {
  if (given !== undefined) checkNames(path, given, Object.keys(defaults))
  const entries = Object.entries(given ?? {}).filter(([, value]) => value !== undefined)
  return { ...defaults, ...Object.fromEntries(entries) } as Filled<Options, Defaults>
}

/** One option of a group: a row of the table that defaults, checks, hints and the documentation come from. */
export interface OptionRow<Value> {
  /** The value where none is given; missing: there is none. */
  readonly byDefault?: Value
  /**
   * Checks a value that is given.
   * @throws {OptionError} it is invalid
   */
  check?(path: string, value: unknown): void
}

/** A row for each option of a group, so that none can be forgotten. */
export type OptionTable<Options extends object> = {
  readonly [Name in keyof Options]-?: OptionRow<Exclude<Options[Name], undefined>>
}

/**
 * Options that are what their table says, with its defaults.
 * @param path the name of the options in error messages
 * @throws {OptionError} one is not in the table, or not what it must be
 */
export function readTable<Options extends object, Table extends OptionTable<Options>>(
  path: string,
  given: Options,
  table: Table
): FromTable<Options, Table> {
  const rows = Object.entries<OptionRow<unknown>>(table)
  const defaults = Object.fromEntries(rows.map(([name, { byDefault }]) => [name, byDefault]))
  const values = withDefaults<Options, object>(path, given, defaults) as Record<string, unknown>
  for (const [name, { check }] of rows)
    if (values[name] !== undefined) check?.(`${path}.${name}`, values[name])
  return values as FromTable<Options, Table>
}

/** Options in which every option of which the table has a default is present. */
export type FromTable<Options, Table> = {
  readonly [Name in keyof Options & keyof Table]: Table[Name] extends { readonly byDefault: unknown }
    ? Exclude<Options[Name], undefined>
    : Options[Name]
}

/** Options in which every option with a default is present. */
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

/** @throws {OptionError} `given` is no object, or one of its names is unknown */
export function checkNames(path: string, given: unknown, known: readonly string[]): asserts given is object {
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw OptionError.expected(path, 'an object of options', given)
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || known.includes(name)) continue
    const near = nearest(name, known)
    const hint = near === undefined ? `there are ${known.join(', ')}` : `did you mean ${path}.${near}?`
    throw new OptionError(`${path}.${name}`, `${path}.${name} is not an option; ${hint}`)
  }
}

/** @throws {OptionError} the value is no number, or less than `least` */
export function atLeast(least: number, path: string, value: unknown): void {
  if (typeof value === 'number' && value >= least) return
  throw OptionError.expected(path, `a number, ${least} or more`, value)
}

/** Most milliseconds of a timer, 24.8 days: with more, runtimes wake it at once. */
export const LONGEST_TIME = 2 ** 31 - 1

/** @throws {OptionError} the value is no time that a timer can have, or less than `least` */
export function milliseconds(least: number, path: string, value: unknown): void {
  if (typeof value === 'number' && value >= least && value <= LONGEST_TIME) return
  throw OptionError.expected(path, `milliseconds, from ${least} to ${LONGEST_TIME} (24.8 days)`, value)
}

/** The known name most similar to `name`; `undefined` if none is similar enough. */
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

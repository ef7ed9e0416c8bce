/**
 * Command-line flags as a table: the values of a flag, how they are read, and the texts of help and errors. Works for
 * any command.
 */
import { parseArgs } from 'node:util'
import { UsageError } from '../errors.ts'

/** One flag. `read` returns `undefined` for a value that is not allowed. */
export interface Flag<T> {
  readonly type: 'string' | 'boolean'
  readonly allowed: string
  readonly help: string
  /** Whether the flag has a `--no-` form. */
  readonly negatable: boolean
  read(given: string): T | undefined
}

type FlagTable = Readonly<Record<string, Flag<unknown>>>
type FlagValues<F extends FlagTable> = {
  [K in keyof F]: (F[K] extends Flag<infer T> ? T : never) | undefined
}

export const integer = (min: number, max: number, help: string): Flag<number> => ({
  type: 'string',
  negatable: false,
  allowed: `a whole number from ${min} to ${max}`,
  help,
  read: (given) => (/^\d+$/.test(given) ? within(Number(given), min, max) : undefined)
})

export const seconds = (min: number, max: number, help: string): Flag<number> => ({
  type: 'string',
  negatable: false,
  allowed: `seconds, a number from ${min} to ${max}`,
  help,
  read: (given) => (/^\d+(\.\d+)?$/.test(given) ? within(Number(given), min, max) : undefined)
})

export const milliseconds = (min: number, max: number, help: string): Flag<number> => ({
  ...seconds(min, max, help),
  allowed: `milliseconds, a number from ${min} to ${max}`
})

export const minutes = (min: number, max: number, help: string): Flag<number> => ({
  ...seconds(min, max, help),
  allowed: `minutes, a number from ${min} to ${max}`
})

export const choice = <const T extends string>(values: readonly T[], help: string): Flag<T> => ({
  type: 'string',
  negatable: false,
  allowed: values.join(' or '),
  help,
  read: (given) => values.find((value) => value === given)
})

/** Several of `values`, separated by commas, each at most once, in the order in which they are given. */
export const choices = <const T extends string>(values: readonly T[], help: string): Flag<readonly T[]> => ({
  type: 'string',
  negatable: false,
  allowed: `one or more of ${values.join(', ')}, separated by commas`,
  help,
  read: (given) => {
    const parts = given.split(',')
    const chosen = parts.flatMap((part) => values.find((value) => value === part) ?? [])
    return chosen.length === parts.length && new Set(chosen).size === parts.length ? chosen : undefined
  }
})

/** Several whole numbers, separated by commas, each at most once. */
export const integers = (min: number, max: number, help: string): Flag<readonly number[]> => ({
  type: 'string',
  negatable: false,
  allowed: `whole numbers from ${min} to ${max}, separated by commas`,
  help,
  read: (given) => {
    const single = integer(min, max, help)
    const read = given.split(',').map((part) => single.read(part))
    const numbers = read.filter((value) => value !== undefined)
    return numbers.length === read.length && new Set(numbers).size === read.length ? numbers : undefined
  }
})

/** Several values that `read` accepts, separated by commas or, if a command has joined them, by newlines. */
export const several = <T>(
  allowed: string,
  help: string,
  read: (part: string) => T | undefined
): Flag<readonly T[]> => ({
  type: 'string',
  negatable: false,
  allowed,
  help,
  read: (given) => {
    const parts = given.split(/[,\n]/)
    const values = parts.map((part) => (part === '' ? undefined : read(part)))
    const known = values.filter((value) => value !== undefined)
    return known.length === parts.length && new Set(parts).size === parts.length ? known : undefined
  }
})

export const text = (allowed: string, help: string): Flag<string> => ({
  type: 'string',
  negatable: false,
  allowed,
  help,
  read: (given) => (given === '' ? undefined : given)
})

/** A flag that is true as `--name`, false as `--no-name`, and `undefined` if absent. */
export const toggle = (help: string): Flag<boolean> => ({
  type: 'boolean',
  negatable: true,
  allowed: 'no value',
  help,
  read: () => undefined
})

/**
 * Reads a command line against a table of flags. An absent flag is `undefined`: the caller applies defaults.
 *
 * @throws UsageError with the flag, the given value and the allowed values
 */
export function parseFlags<F extends FlagTable>(flags: F, argv: readonly string[]): FlagValues<F> {
  const given = parseStrictly(flags, argv)
  const values = Object.entries(flags).map(([name, flag]) => {
    const value = given[name]
    if (value === undefined || typeof value === 'boolean') return [name, value]
    const read = flag.read(value)
    if (read === undefined) throw new UsageError(`--${name}: got '${value}', expected ${flag.allowed}`)
    return [name, read]
  })
  return Object.fromEntries(values) as FlagValues<F>
}

/** The flag that every command has. */
export const helpFlag: Flag<boolean> = { ...toggle('print this'), negatable: false }

/** The lines of `--help` that describe the flags. */
export function describeFlags(flags: FlagTable): string {
  const names = Object.entries(flags).map(([name, { negatable }]) =>
    negatable ? `--[no-]${name}` : `--${name}`
  )
  const width = Math.max(...names.map((name) => name.length))
  return Object.values(flags)
    .map(({ type, help, allowed }, index) => {
      const detail = type === 'boolean' ? '' : ` (${allowed})`
      return `  ${names[index]?.padEnd(width)}  ${help}${detail}`
    })
    .join('\n')
}

function parseStrictly(flags: FlagTable, argv: readonly string[]) {
  const options = Object.fromEntries(Object.entries(flags).map(([name, { type }]) => [name, { type }]))
  try {
    const { values, tokens } = parseArgs({
      args: [...argv],
      options,
      strict: true,
      allowNegative: true,
      allowPositionals: false,
      tokens: true
    })
    rejectContradictions(tokens)
    return values
  } catch (error) {
    if (error instanceof UsageError) throw error
    throw new UsageError(describeParseError(error instanceof Error ? error.message : String(error), flags))
  }
}

function rejectContradictions(tokens: readonly { kind: string; name?: string; rawName?: string }[]): void {
  const seen = new Map<string, string>()
  for (const { kind, name, rawName } of tokens) {
    if (kind !== 'option' || name === undefined || rawName === undefined) continue
    const earlier = seen.get(name)
    if (earlier !== undefined) {
      throw new UsageError(`${rawName}: given after ${earlier}, expected one of them, once`)
    }
    seen.set(name, rawName)
  }
}

function describeParseError(message: string, flags: FlagTable): string {
  const flag = flags[/--(?:no-)?([a-z-]+)/.exec(message)?.[1] ?? '']
  if (flag !== undefined) return `${message}: expected ${flag.allowed}`
  const names = Object.keys(flags).map((name) => `--${name}`)
  return `${message}. Allowed: ${names.join(' ')}`
}

const within = (value: number, min: number, max: number) => (value >= min && value <= max ? value : undefined)

/** The options of the command, read from its arguments. */
import type { Length } from '../scenario.ts'

export interface RunOptions {
  readonly length: Length
  /** The names of the scenarios to run; `undefined`: all. */
  readonly only: readonly string[] | undefined
  readonly list: boolean
  readonly help: boolean
  /**
   * Whether the results of other scenarios in the file `json` are kept, so that a page can be made in several runs.
   */
  readonly keep: boolean
  /** The file for the rows as JSON. */
  readonly json: string | undefined
  /** The file for the page in Markdown. */
  readonly markdown: string | undefined
  /** The minutes of the soak; `undefined`: by `length`. */
  readonly soakMinutes: number | undefined
}

/** An argument that cannot be understood. */
export class UsageError extends Error {
  override name = 'UsageError'
}

export const USAGE = `npm run torture -- [--long] [--only=<name>,…] [--json=<file>] [--keep] [--markdown=<file>] [--soak-minutes=<n>] [--list]

  --long             everything at full length; the soak takes 10 minutes
  --only             some scenarios, by name
  --list             the names of all scenarios
  --json             writes the rows to a file
  --keep             keeps what that file says of scenarios that do not run now
  --markdown         writes a page to a file
  --soak-minutes     how long the soak takes`

/** @throws {UsageError} an argument is unknown, or its value is invalid */
export function readOptions(given: readonly string[], names: readonly string[]): RunOptions {
  const values = new Map<string, string>()
  for (const argument of given) {
    const [, name, value] = /^--([a-z-]+)(?:=(.*))?$/.exec(argument) ?? []
    const isFlag = name === 'long' || name === 'list' || name === 'help' || name === 'keep'
    const takesValue = ['only', 'json', 'markdown', 'soak-minutes'].includes(name ?? '')
    if (name === undefined || !(isFlag || takesValue)) throw new UsageError(`'${argument}' is not an option`)
    if (isFlag && value !== undefined) throw new UsageError(`--${name} takes no value`)
    if (takesValue && (value === undefined || value === ''))
      throw new UsageError(`--${name} needs a value: --${name}=…`)
    values.set(name, value ?? '')
  }
  const only = values.get('only')?.split(',')
  for (const name of only ?? []) {
    if (!names.includes(name))
      throw new UsageError(`There is no scenario '${name}'; there are ${names.join(', ')}`)
  }
  if (values.has('keep') && !values.has('json'))
    throw new UsageError('--keep needs the file to keep: --json=…')
  const minutes = values.get('soak-minutes')
  if (minutes !== undefined && !(Number(minutes) > 0))
    throw new UsageError(`--soak-minutes must be a number above 0, not '${minutes}'`)
  return {
    length: values.has('long') ? 'long' : 'short',
    only,
    list: values.has('list'),
    help: values.has('help'),
    keep: values.has('keep'),
    json: values.get('json'),
    markdown: values.get('markdown'),
    soakMinutes: minutes === undefined ? undefined : Number(minutes)
  }
}

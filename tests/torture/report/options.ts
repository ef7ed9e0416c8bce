/** The options of the command, read from its arguments. */
import type { Length } from '../scenario.ts'

export interface RunOptions {
  readonly length: Length
  /** Names of the scenarios to run; `undefined` for all. */
  readonly only: readonly string[] | undefined
  readonly list: boolean
  readonly help: boolean
  /** Whether what `json` says of scenarios that do not run now is kept: a page can be made in parts. */
  readonly keep: boolean
  /** File for the rows as JSON. */
  readonly json: string | undefined
  /** File for the page in Markdown. */
  readonly markdown: string | undefined
  /** Minutes the soak takes; `undefined`: as long as `length` says. */
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

/** @throws {UsageError} an argument is not known, or its value is not what it must be */
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

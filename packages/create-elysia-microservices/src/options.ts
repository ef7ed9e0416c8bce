/** The command line: what is to be made, read and checked before anything is asked or written. */
import { basename, resolve } from 'node:path'
import { parseArgs } from 'node:util'

/** The runtimes that a project can be made for. */
export const RUNTIMES = ['bun', 'node', 'deno'] as const
export type Runtime = (typeof RUNTIMES)[number]

/** The transports that can carry its messages. */
export const TRANSPORTS = ['tcp', 'nats', 'redis', 'rabbitmq', 'mqtt', 'kafka'] as const
export type Transport = (typeof TRANSPORTS)[number]

/** The project to make. */
export interface Options {
  /** As it was given: relative to where the program runs, or absolute. */
  readonly folder: string
  /** The name in `package.json`. */
  readonly name: string
  readonly runtime: Runtime
  readonly transport: Transport
  /** Whether it has a page. */
  readonly web: boolean
}

/** The arguments of a command line; a missing one is asked for, or with `yes` its default counts. */
export interface Given {
  readonly folder: string | undefined
  readonly runtime: Runtime | undefined
  readonly transport: Transport | undefined
  readonly web: boolean
  readonly yes: boolean
}

/** The requested project cannot be made: the message says what to do instead. Nothing was written. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

const OPTIONS = {
  runtime: { type: 'string' },
  transport: { type: 'string' },
  engine: { type: 'string' },
  web: { type: 'boolean', default: false },
  yes: { type: 'boolean', short: 'y', default: false },
  help: { type: 'boolean', short: 'h', default: false },
  version: { type: 'boolean', default: false }
} as const

/**
 * Reads a command line.
 * @returns `'help'` or `'version'` if that is asked for
 * @throws {UsageError} it is invalid
 */
export function readArguments(args: readonly string[]): Given | 'help' | 'version' {
  const { values, positionals } = parse(args)
  if (values.help) return 'help'
  if (values.version) return 'version'
  const [folder, surplus] = positionals
  if (surplus !== undefined)
    throw new UsageError(
      `Only one folder can be made: leave out ${surplus}, or put a name with spaces between quotes`
    )
  if (folder !== undefined) nameOf(folder)
  return {
    folder,
    runtime: oneOf('--runtime', RUNTIMES, values.runtime),
    transport: transportOf(values),
    web: values.web,
    yes: values.yes
  }
}

/** `--engine` names a transport, too: people who have a broker look for it. */
function transportOf({ transport, engine }: ReturnType<typeof parse>['values']): Transport | undefined {
  if (transport !== undefined && engine !== undefined)
    throw new UsageError('--transport and --engine say the same: give one of them')
  const [, ...engines] = TRANSPORTS
  return oneOf('--transport', TRANSPORTS, transport) ?? oneOf('--engine', engines, engine)
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true })
  } catch (error) {
    throw new UsageError(`${(error as Error).message}; see --help`)
  }
}

function oneOf<Name extends string>(
  option: string,
  names: readonly Name[],
  given: string | undefined
): Name | undefined {
  const name = names.find((each) => each === given)
  if (name === undefined && given !== undefined)
    throw new UsageError(
      `${option} must be ${names.join(', ').replace(/, ([^,]*)$/, ' or $1')}, but is ${JSON.stringify(given)}`
    )
  return name
}

/** npm takes no longer name. */
const LONGEST_NAME = 214

/**
 * The name of a package in a folder: the folder's, with what npm does not allow replaced.
 * @throws {UsageError} nothing is left of it
 */
export function nameOf(folder: string): string {
  const name = basename(resolve(folder))
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, '-')
    .replace(/^[._-]+|-+$/g, '')
    .slice(0, LONGEST_NAME)
  if (folder.trim() === '' || name === '' || name === 'node_modules')
    throw new UsageError(
      `${JSON.stringify(folder)} gives no name for a package: choose a folder whose name has letters from a to z or digits`
    )
  return name
}

/**
 * The runtime of the command that made this program run: Bun for `bun create`, Deno for `deno init --npm`.
 * @param userAgent as package managers set it
 */
export function usualRuntime(userAgent: string | undefined): Runtime {
  if (userAgent?.startsWith('bun/') || process.versions['bun'] !== undefined) return 'bun'
  return userAgent?.startsWith('deno/') || process.versions['deno'] !== undefined ? 'deno' : 'node'
}

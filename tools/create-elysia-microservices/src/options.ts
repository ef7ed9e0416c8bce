/** Reads and checks the command line before any question is asked or file is written. */
import { basename, resolve } from 'node:path'
import { parseArgs } from 'node:util'

/** The runtimes that a project can be made for. */
export const RUNTIMES = ['bun', 'node', 'deno'] as const
export type Runtime = (typeof RUNTIMES)[number]

/** The transports that a project can use for its messages. */
export const TRANSPORTS = ['tcp', 'nats', 'redis', 'rabbitmq', 'mqtt', 'kafka', 'grpc'] as const
export type Transport = (typeof TRANSPORTS)[number]

/** A transport with a server between services and their callers. */
export type Engine = Exclude<Transport, 'tcp' | 'grpc'>

/** Whether there is a server between services and their callers. */
export function isEngine(transport: Transport): transport is Engine {
  return transport !== 'tcp' && transport !== 'grpc'
}

/** The transports that store no events: a project with one of them keeps durable events in a file, by `sqlite()`. */
export const KEEPS_EVENTS_IN_FILE: readonly Transport[] = ['tcp', 'mqtt', 'grpc']
/** The first release of Node that has SQLite, which keeps that file. */
export const NODE_WITH_SQLITE = '22.13'

/** The description of the project to create. */
export interface Options {
  /** The path as the user gave it: absolute, or relative to the working directory. */
  readonly folder: string
  /** The name in `package.json`. */
  readonly name: string
  readonly runtime: Runtime
  readonly transport: Transport
  /** Whether the project has a web page. */
  readonly web: boolean
}

/** The arguments of a command line. A missing argument is asked for; with `yes` its default is used. */
export interface Given {
  readonly folder: string | undefined
  readonly runtime: Runtime | undefined
  readonly transport: Transport | undefined
  readonly web: boolean | undefined
  readonly yes: boolean
}

/** The project cannot be created with these arguments. The message says what to do instead; nothing was written. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

const OPTIONS = {
  runtime: { type: 'string' },
  transport: { type: 'string' },
  engine: { type: 'string' },
  web: { type: 'boolean' },
  yes: { type: 'boolean', short: 'y', default: false },
  help: { type: 'boolean', short: 'h', default: false },
  version: { type: 'boolean', default: false }
} as const

/**
 * Reads a command line.
 * @returns `'help'` or `'version'` if the user asked for that
 * @throws {UsageError} the command line is invalid
 */
export function readArguments(args: readonly string[]): Given | 'help' | 'version' {
  const { values, positionals } = parse(args)
  if (values.help) return 'help'
  if (values.version) return 'version'
  const [folder, surplus] = positionals
  if (surplus !== undefined)
    throw new UsageError(
      `Only one folder can be created: leave out ${surplus}, or put a name with spaces between quotes`
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

/** `--engine` is a second name of `--transport`, because people who have a broker look for that word. */
function transportOf({ transport, engine }: ReturnType<typeof parse>['values']): Transport | undefined {
  if (transport !== undefined && engine !== undefined)
    throw new UsageError('--transport and --engine have the same meaning: give only one of them')
  return oneOf('--transport', TRANSPORTS, transport) ?? oneOf('--engine', TRANSPORTS.filter(isEngine), engine)
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

/** The longest package name that npm accepts. */
const LONGEST_NAME = 214

/**
 * The package name for a folder: the folder's name, with the characters replaced that npm does not allow.
 * @throws {UsageError} no allowed character is left
 */
export function nameOf(folder: string): string {
  const name = basename(resolve(folder))
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, '-')
    .replace(/^[._-]+|-+$/g, '')
    .slice(0, LONGEST_NAME)
  if (folder.trim() === '' || name === '' || name === 'node_modules')
    throw new UsageError(
      `${JSON.stringify(folder)} has no characters for the name of a package: choose a folder whose name has letters from a to z or digits`
    )
  return name
}

/**
 * The default runtime: that of the command that started this program. Bun for `bun create`, Deno for `deno init
 * --npm`.
 * @param userAgent the variable `npm_config_user_agent`, which package managers set
 */
export function usualRuntime(userAgent: string | undefined): Runtime {
  if (userAgent?.startsWith('bun/') || process.versions['bun'] !== undefined) return 'bun'
  return userAgent?.startsWith('deno/') || process.versions['deno'] !== undefined ? 'deno' : 'node'
}

/** Whether a project needs a newer Node, because it keeps durable events in a file. @param node the version of Node */
export function lacksSqlite({ runtime, transport }: Options, node: string): boolean {
  const [major = 0, minor = 0] = node.split('.').map(Number)
  const [neededMajor = 0, neededMinor = 0] = NODE_WITH_SQLITE.split('.').map(Number)
  const isOlder = major < neededMajor || (major === neededMajor && minor < neededMinor)
  return runtime === 'node' && KEEPS_EVENTS_IN_FILE.includes(transport) && isOlder
}

/**
 * The program: reads the command line, asks for missing arguments, writes the project, and prints the next
 * commands.
 */
import { refuseUnlessEmpty, writeFiles } from './folder.ts'
import { HELP } from './help.ts'
import {
  type Given,
  lacksSqlite,
  NODE_WITH_SQLITE,
  nameOf,
  type Options,
  readArguments,
  UsageError,
  usualRuntime
} from './options.ts'
import { filesOf, manifest } from './project.ts'
import { ask, Canceled, type Defaults, type Terminal, wantsInstall } from './questions.ts'
import { firstCommands, summary } from './readme.ts'

/** Exit codes of the process. */
export const EXIT = { ok: 0, failed: 1, usage: 2, canceled: 130 } as const

/** The surroundings of the program, which tests replace. */
export interface Surroundings {
  /** `undefined` if there is nobody to ask, such as in CI. */
  readonly terminal: Terminal | undefined
  /** The package manager that runs the program: the variable `npm_config_user_agent`. */
  readonly userAgent: string | undefined
  /** The version of Node: that of this process, or the one that the runtime of this process stands for. */
  readonly node: string
  /** Runs a command in a folder. @returns whether it succeeds */
  runs(folder: string, file: string, args: readonly string[]): Promise<boolean>
  out(text: string): void
  error(text: string): void
}

/** Runs the program. @returns the exit code of the process */
export async function run(args: readonly string[], around: Surroundings): Promise<number> {
  try {
    const given = readArguments(args)
    if (given === 'help') around.out(HELP)
    else if (given === 'version') around.out(`${manifest().version}\n`)
    else await make(given, around)
    return EXIT.ok
  } catch (error) {
    if (error instanceof Canceled) {
      around.error('Canceled; nothing was written\n')
      return EXIT.canceled
    }
    around.error(`${(error as Error).message}\n`)
    return error instanceof UsageError ? EXIT.usage : EXIT.failed
  }
}

async function make(given: Given, around: Surroundings): Promise<void> {
  const { terminal, userAgent, node, out, error, runs } = around
  // The folder is checked before the questions, since the user's answers would be lost otherwise.
  if (given.folder !== undefined) refuseUnlessEmpty(given.folder)
  const defaults: Defaults = { folder: 'orders', runtime: usualRuntime(userAgent), transport: 'tcp' }
  const options = given.yes ? completed(given, defaults) : await asked(given, defaults, terminal)
  writeFiles(options.folder, filesOf(options, userAgent))
  const { folder } = options
  out(`Made ${folder}: ${summary(options)}.\n`)
  if (lacksSqlite(options, node))
    error(
      `The project keeps durable events in a file, for which it needs Node ${NODE_WITH_SQLITE} or later, and this is Node ${node}: update Node, use Bun, or take a --transport that stores them\n`
    )
  // Without a terminal, such as in CI, the script that creates the project has to install its packages.
  const isInstalled = terminal !== undefined && (given.yes || (await wantsInstall(terminal)))
  const [install, ...others] = firstCommands(options) as [string, ...string[]]
  const [file = '', ...args] = install.split(' ')
  const isThere = isInstalled && (await runs(folder, file, args))
  if (isInstalled && !isThere)
    error(`${install} has failed: the project was created, but its packages are not installed\n`)
  const next = [...(folder === '.' ? [] : [`cd ${quoted(folder)}`]), ...(isThere ? [] : [install]), ...others]
  out(`Next:\n\n${next.map((line) => `  ${line}\n`).join('')}`)
}

function completed(given: Given, defaults: Defaults): Options {
  const { folder = defaults.folder, runtime = defaults.runtime, transport = defaults.transport } = given
  return { folder, name: nameOf(folder), runtime, transport, web: given.web ?? false }
}

async function asked(given: Given, defaults: Defaults, terminal: Terminal | undefined): Promise<Options> {
  if (terminal !== undefined) return ask(given, defaults, terminal)
  const missing = [
    ...(given.folder === undefined ? ['the folder'] : []),
    ...(given.runtime === undefined ? ['--runtime'] : []),
    ...(given.transport === undefined ? ['--transport'] : [])
  ]
  if (missing.length === 0) return completed(given, defaults)
  throw new UsageError(
    `There is no terminal to ask for ${missing.join(', ')}: give the missing arguments, or --yes to use defaults`
  )
}

/** Quotes a path for a shell, if the path needs quotes. */
function quoted(folder: string): string {
  return /^[\w./-]+$/.test(folder) ? folder : `'${folder.replaceAll("'", "'\\''")}'`
}

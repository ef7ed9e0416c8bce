/** Finds the command that runs an entry file. */
import { existsSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { OptionError } from '@elysia-microservices/transport/kit'
import type { Runtime, ServicePlan } from './config.ts'
import { findProgram } from './programs.ts'

/** A command for the operating system. */
export interface Command {
  readonly file: string
  readonly args: readonly string[]
  readonly env: NodeJS.ProcessEnv
  readonly shell?: boolean
}

/**
 * The module that is loaded into processes. It is found by this package's own name, because a bundle puts the code
 * into other folders.
 */
const PRELOAD = createRequire(import.meta.url).resolve('@elysia-microservices/cli/preload')
const HELP: Readonly<Record<Runtime, string>> = {
  bun: 'npm install --save-dev bun, or see https://bun.sh',
  node: 'see https://nodejs.org',
  deno: 'npm install --save-dev deno, or see https://deno.com'
}
/** The runtime of this process. */
const OWN: Runtime =
  process.versions['bun'] !== undefined ? 'bun' : process.versions['deno'] !== undefined ? 'deno' : 'node'
/** The first release of Node that runs TypeScript without a flag. */
const STRIPS_TYPES = [22, 18]

/** The default runtime of a project. */
export function usualRuntime(root: string): Runtime {
  const has = (...names: string[]) => names.some((name) => existsSync(join(root, name)))
  if (OWN === 'bun' || has('bun.lock', 'bun.lockb')) return 'bun'
  if (OWN === 'deno' || has('deno.lock')) return 'deno'
  return has('deno.json', 'deno.jsonc') && !has('package.json') ? 'deno' : 'node'
}

/**
 * Returns the command of a service.
 * @param folders the folders in which programs are looked for
 * @throws {OptionError} the service's file, folder or runtime does not exist
 */
export function commandOf(service: ServicePlan, root: string, folders: readonly string[]): Command {
  const { name, command, flags = [], args = [], runtime = usualRuntime(root) } = service
  const preload = PRELOAD
  const folder = resolve(root, service.cwd ?? '.')
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true)
    throw new OptionError(name, `${name}: there is no folder ${folder}, which is its cwd`)
  const file = entryOf(service, root)
  if (file === undefined)
    return { file: command as string, args: [], env: loadedByEnvironment(preload), shell: true }
  if (!existsSync(file)) throw new OptionError(name, `${name}: there is no file ${file}`)
  const program = programOf(runtime, folders)
  if (program === undefined)
    throw new OptionError(name, `${name} needs ${runtime}, which is not on the PATH: ${HELP[runtime]}`)
  if (runtime === 'bun')
    return { file: program, args: ['--preload', preload, ...flags, file, ...args], env: {} }
  if (runtime === 'deno')
    return {
      file: program,
      args: ['run', '-A', '--unstable-net', '--preload', preload, ...flags, file, ...args],
      env: {}
    }
  const loader = /\.[cm]?tsx?$/.test(file) ? typeScriptLoader(file, name) : []
  const importing = ['--import', pathToFileURL(preload).href, '--enable-source-maps', ...loader]
  return { file: program, args: [...importing, ...flags, file, ...args], env: {} }
}

/** The path of a service's file; `undefined` for a service with a command. */
export function entryOf({ entry }: ServicePlan, root: string): string | undefined {
  return entry === undefined ? undefined : resolve(root, entry)
}

/** The program of a runtime; this process's own program if it is the same runtime. */
function programOf(runtime: Runtime, folders: readonly string[]): string | undefined {
  return runtime === OWN ? process.execPath : findProgram([runtime], folders)
}

/** Environment variables that load the preload, for a shell command that may start any runtime. */
function loadedByEnvironment(preload: string): NodeJS.ProcessEnv {
  const { NODE_OPTIONS = '', BUN_OPTIONS = '' } = process.env
  return {
    NODE_OPTIONS: `${NODE_OPTIONS} --import=${pathToFileURL(preload).href}`.trim(),
    // Bun splits this variable at spaces, so a path with spaces cannot be used.
    ...(!preload.includes(' ') && { BUN_OPTIONS: `${BUN_OPTIONS} --preload=${preload}`.trim() })
  }
}

/** The arguments with which Node runs TypeScript: tsx if the project has it, otherwise none. */
function typeScriptLoader(file: string, name: string): string[] {
  try {
    return ['--import', pathToFileURL(createRequire(file).resolve('tsx')).href]
  } catch {
    // The project does not have tsx.
  }
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  const [from = 0, since = 0] = STRIPS_TYPES
  if (process.versions.bun !== undefined || major > from || (major === from && minor >= since)) return []
  throw new OptionError(
    name,
    `${name}: Node ${process.versions.node} cannot run ${file}: npm install --save-dev tsx, or use Node ${from}.${since} or later`
  )
}

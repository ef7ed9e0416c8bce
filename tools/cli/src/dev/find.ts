/**
 * Finds the services to run: in the configuration, in the files on the command line, or in workspaces with a script
 * `dev`.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, extname, join, relative, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, OptionError } from '@elysia-microservices/transport/kit'
import { type DevService, type Plan, readConfig } from './config.ts'
import { neededEngines } from './engines/index.ts'
import { foldersAbove } from './programs.ts'

const CONFIGS = ['ts', 'mts', 'js', 'mjs'].map((extension) => `microservices.config.${extension}`)
/** Files with these names give their service the name of their folder. */
const MAIN = ['index', 'main', 'server', 'service', 'app', 'start']
/** The lock file of each package manager, and its command for running a script. */
const MANAGERS = [
  ['bun.lock', 'bun run'],
  ['bun.lockb', 'bun run'],
  ['pnpm-lock.yaml', 'pnpm run'],
  ['yarn.lock', 'yarn run']
] as const
/** The package that keeps events in a file. */
const SQLITE = '@elysia-microservices/sqlite'
/** Matches a script that would run `dev` itself again. */
const OWN_SCRIPT = /\belysia-microservices(?:-cli)? dev\b/

interface PackageJson {
  readonly name?: string
  readonly scripts?: Readonly<Record<string, string>>
  readonly workspaces?: readonly string[] | { readonly packages?: readonly string[] }
  readonly dependencies?: object
  readonly devDependencies?: object
}

/** The arguments of the command line. */
export interface Asked {
  readonly folder: string
  /** Entry files. */
  readonly entries: readonly string[]
  /** Another configuration file, from `--config`. */
  readonly config: string | undefined
}

/** Finds the services to run. @throws {OptionError} there are none, or the configuration is invalid */
export async function findPlan({ folder, entries, config }: Asked): Promise<Plan> {
  if (entries.length > 0) {
    if (config !== undefined) throw new OptionError('--config', 'Use either --config or files, not both')
    return planned(folder, servicesOf(folder, entries))
  }
  const file =
    config === undefined
      ? CONFIGS.map((name) => join(folder, name)).find((path) => existsSync(path))
      : resolve(folder, config)
  if (file !== undefined) {
    if (!existsSync(file)) throw new OptionError('--config', `There is no file ${config}`)
    const root = dirname(file)
    return { ...planOf(root, await defaultOf(file)), file }
  }
  const services = workspaceServices(folder)
  if (services.length > 0) return planned(folder, services)
  throw new OptionError(
    'services',
    `There are no services in ${folder}: name their files (elysia-microservices dev src/orders.ts src/gateway.ts), or write a microservices.config.ts`
  )
}

function planned(root: string, services: readonly (readonly [name: string, service: DevService])[]): Plan {
  const names = services.map(([name]) => name)
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined)
    throw new OptionError(
      'services',
      `Two services are called ${twice}: give them names in a microservices.config.ts`
    )
  return planOf(root, { services: Object.fromEntries(services) })
}

/** Checks a configuration. Which engines it needs by default depends on the services that it has. */
function planOf(root: string, config: unknown): Plan {
  try {
    const { services } = readConfig(root, config, [], false)
    const packages = packagesOfAll(root, services)
    return readConfig(root, config, neededEngines(packages), packages.includes(SQLITE))
  } catch (error) {
    throw error instanceof OptionError ? error : unreadable('The configuration', error)
  }
}

/** The error for a configuration whose code has thrown any value. */
function unreadable(what: string, cause: unknown): OptionError {
  let reason = describe(cause)
  try {
    if (cause instanceof Error) reason = String(cause.message)
  } catch {
    // An error may have getters that throw, too.
  }
  return new OptionError('config', `${what} cannot be read: ${reason}`, cause)
}

/** The default export of a configuration. Only newer releases of Node can import TypeScript without a loader. */
async function defaultOf(file: string): Promise<unknown> {
  try {
    const loaded = (await (process.versions.bun === undefined && /ts$/.test(file)
      ? (
          await import('jiti')
        )
          .createJiti(import.meta.url, { moduleCache: false, fsCache: false, interopDefault: false })
          .import(file)
      : import(pathToFileURL(file).href))) as { readonly default?: unknown }
    if (loaded.default !== undefined) return loaded.default
  } catch (error) {
    if (error instanceof OptionError) throw error
    throw unreadable(basename(file), error)
  }
  throw new OptionError(
    'config',
    `${basename(file)} has no default export: export default defineConfig({ … })`
  )
}

/** Services from files. Each service is named after its file, or after its folder. */
function servicesOf(folder: string, entries: readonly string[]): [string, DevService][] {
  return entries.map((entry) => {
    const file = resolve(folder, entry)
    if (!existsSync(file)) throw new OptionError('arguments', `There is no file ${entry}`)
    const own = basename(file, extname(file))
    const parents = dirname(file)
      .split(/[\\/]/)
      .filter((name) => name !== 'src')
    return [MAIN.includes(own) ? (parents.at(-1) ?? own) : own, { entry: relative(folder, file) }]
  })
}

/** Services from workspaces that have a script `dev`, which must reload by itself. */
function workspaceServices(root: string): [string, DevService][] {
  const { workspaces } = packageJson(root)
  const patterns = Array.isArray(workspaces)
    ? workspaces
    : (Object(workspaces).packages ?? pnpmPatterns(root))
  const [, run] = MANAGERS.find(([lock]) => existsSync(join(root, lock))) ?? ['', 'npm run']
  return foldersOf(root, patterns).flatMap((folder): [string, DevService][] => {
    const { name = basename(folder), scripts } = packageJson(folder)
    const script = scripts?.['dev']
    if (script === undefined || OWN_SCRIPT.test(script)) return []
    return [
      [name.replace(/^@[^/]*\//, ''), { command: `${run} dev`, cwd: relative(root, folder), watch: false }]
    ]
  })
}

/** The entries of the list `packages:` in `pnpm-workspace.yaml`. */
function pnpmPatterns(root: string): string[] {
  const file = join(root, 'pnpm-workspace.yaml')
  if (!existsSync(file)) return []
  const lines = readFileSync(file, 'utf8')
    .split('\n')
    .map((line) => line.replace(/(^|\s)#.*/, ''))
  const first = lines.findIndex((line) => line.startsWith('packages:'))
  if (first === -1) return []
  const end = lines.findIndex((line, index) => index > first && /^[^\s\]-]/.test(line))
  const list = lines.slice(first, end === -1 ? undefined : end).join('\n')
  return [...list.matchAll(/(?:-\s+|\[\s*|,\s*)['"]?([^'",\]\s]+)/g)]
    .map(([, pattern = '']) => pattern)
    .filter((pattern) => !pattern.startsWith('!'))
}

/** The folders that workspace patterns name: `apps/*`, or a single folder. */
function foldersOf(root: string, patterns: readonly string[]): string[] {
  return patterns.flatMap((pattern) => {
    const [, parent] = /^(.*?)\/?\*{1,2}$/.exec(pattern.replace(/\/$/, '')) ?? []
    if (parent === undefined) return [join(root, pattern)]
    const above = join(root, parent)
    if (!existsSync(above)) return []
    return readdirSync(above, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => join(above, name))
  })
}

/** The names of the packages that a project and its services depend on. */
function packagesOfAll(root: string, services: Plan['services']): string[] {
  const folders = services.flatMap(({ cwd, entry }) => [cwd ?? '.', dirname(entry ?? '.')])
  return [root, ...folders.map((folder) => resolve(root, folder))].flatMap(packagesOf)
}

/** The names of the packages that the package of a folder depends on. */
function packagesOf(folder: string): string[] {
  const nearest = foldersAbove(folder).find((above) => existsSync(join(above, 'package.json')))
  if (nearest === undefined) return []
  const { dependencies, devDependencies } = packageJson(nearest)
  return Object.keys({ ...dependencies, ...devDependencies })
}

function packageJson(folder: string): PackageJson {
  try {
    return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as PackageJson
  } catch {
    return {}
  }
}

/** The files of a project: copies from `template/`, and generated files such as `package.json`. */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { compose, withWebImage } from './compose.ts'
import { type Options, UsageError } from './options.ts'
import { installScripts, type Manifest, packageJson } from './package-json.ts'
import { readme } from './readme.ts'

/** The absolute path of a file of the package `create-elysia-microservices`. */
const own = (path: string) => fileURLToPath(new URL(`../${path}`, import.meta.url))

/** The manifest of `create-elysia-microservices`, which has the versions of all packages that projects use. */
export function manifest(): Manifest {
  return JSON.parse(readFileSync(own('package.json'), 'utf8')) as Manifest
}

/**
 * The files of a project: texts by their paths, which are separated by `/`.
 * @param userAgent the variable `npm_config_user_agent`, which package managers set: pnpm needs a settings file of
 * its own
 * @throws {UsageError} a project of that name cannot be installed
 */
export function filesOf(options: Options, userAgent: string | undefined): ReadonlyMap<string, string> {
  const made = packageJson(options, manifest())
  if (options.name in made.dependencies || options.name in made.devDependencies)
    throw new UsageError(
      `${options.name} is also the name of a package that the project installs: choose another folder`
    )
  const files = new Map([
    ['package.json', `${JSON.stringify(made, null, 2)}\n`],
    ['README.md', readme(options)]
  ])
  const scripts = Object.entries(installScripts(options) ?? {})
  if (userAgent?.startsWith('pnpm/') && scripts.length > 0)
    files.set(
      'pnpm-workspace.yaml',
      `allowBuilds:\n${scripts.map(([name, isAllowed]) => `  ${name}: ${isAllowed}\n`).join('')}`
    )
  const { runtime, transport, web } = options
  // On Deno, too, Elysia serves HTTP with its adapter for Node.
  const http = runtime === 'deno' ? 'node' : runtime
  for (const part of ['common', http, runtime, transport, ...(web ? ['web', `web-${http}`] : [])]) {
    const folder = own(`template/${part}`)
    // Yarn can run this program from a zip archive; `parentPath` is missing in Yarn's file system.
    for (const inside of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
      const file = join(folder, inside)
      if (!statSync(file).isFile()) continue
      // npm leaves `.gitignore` out of packages, so names in `template/` have an underscore in place of the dot.
      const path = inside
        .split(sep)
        .map((name) => name.replace(/^_/, '.'))
        .join('/')
      files.set(path, readFileSync(file, 'utf8'))
    }
  }
  files.set('compose.yaml', compose(options, files.get('compose.yaml') ?? ''))
  const dockerfile = files.get('Dockerfile') as string
  if (web) files.set('Dockerfile', withWebImage(dockerfile))
  return files
}

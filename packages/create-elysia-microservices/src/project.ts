/** The files of a project: those of `template/`, and those that are written for it. */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Options, UsageError } from './options.ts'
import { installScripts, type Manifest, packageJson } from './package-json.ts'
import { readme } from './readme.ts'

/** The path of a file of this package. */
const own = (path: string) => fileURLToPath(new URL(`../${path}`, import.meta.url))

/** This package's own manifest, which has the versions of everything that projects use. */
export function manifest(): Manifest {
  return JSON.parse(readFileSync(own('package.json'), 'utf8')) as Manifest
}

/**
 * The files of a project: texts by their paths, which are separated by `/`.
 * @param userAgent as package managers set it: pnpm reads its settings from a file of its own
 * @throws {UsageError} a project of that name cannot be installed
 */
export function filesOf(options: Options, userAgent: string | undefined): ReadonlyMap<string, string> {
  const made = packageJson(options, manifest())
  if (options.name in made.dependencies || options.name in made.devDependencies)
    throw new UsageError(
      `${options.name} is the name of a package that the project uses: choose another folder`
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
  // Deno serves HTTP as Node does, by Elysia's adapter.
  const http = runtime === 'deno' ? 'node' : runtime
  for (const part of ['common', http, runtime, transport, ...(web ? ['web', `web-${http}`] : [])]) {
    const folder = own(`template/${part}`)
    // Yarn's file system, which reads out of archives, has no `parentPath`.
    for (const inside of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
      const file = join(folder, inside)
      if (!statSync(file).isFile()) continue
      // npm would not pack `.gitignore`: names with a dot have an underscore there.
      const path = inside
        .split(sep)
        .map((name) => name.replace(/^_/, '.'))
        .join('/')
      files.set(path, readFileSync(file, 'utf8'))
    }
  }
  return files
}

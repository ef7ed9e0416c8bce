/** The runtimes and compilers that a rehearsal tries, installed by npm in exact versions. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Place, run } from './commands.ts'

export type Kind = 'node' | 'bun' | 'deno'

export interface Runtime {
  readonly kind: Kind
  readonly version: string
  /** Whether the runtime can run a project and its tests. Default: true. */
  readonly runsProjects?: false
}

/** The oldest supported version of each runtime, each release line that is still maintained, and the newest. */
export const RUNTIMES: readonly Runtime[] = [
  // A project keeps its events in a file, for which Node has SQLite from 22.13 on.
  { kind: 'node', version: '20.19.0', runsProjects: false },
  { kind: 'node', version: '22.23.3' },
  { kind: 'node', version: '24.21.0' },
  { kind: 'node', version: '26.10.0' },
  // Bun 1.2.0 lacks `node:test`, with which the tests of a project are written.
  { kind: 'bun', version: '1.2.0', runsProjects: false },
  { kind: 'bun', version: '1.2.23' },
  { kind: 'bun', version: '1.4.5' },
  // There is no template for Deno: a project that is created with Deno is run by Node.
  { kind: 'deno', version: '2.9.5', runsProjects: false }
]

/** The Node that package managers run on: a long-term release. */
export const NODE = RUNTIMES[2] as Runtime
export const BUN = RUNTIMES[6] as Runtime
export const DENO = RUNTIMES[7] as Runtime

/** One version of each supported minor release of TypeScript. */
export const COMPILERS = ['5.6.3', '5.7.3', '5.8.3', '5.9.3', '6.0.3', '7.0.2']

/** Installs a runtime if it is missing. @returns the folder of its program */
export async function install({ kind, version }: Runtime, place: Place): Promise<string> {
  const folder = join(place.folder, `${kind}-${version}`)
  const programs = join(folder, 'node_modules/.bin')
  if (!existsSync(join(programs, kind))) {
    mkdirSync(folder, { recursive: true })
    // npm only runs the install scripts of packages that are named here: the script of this package downloads the
    // runtime.
    const allowScripts = { [kind]: true }
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, allowScripts }))
    const options = ['--no-audit', '--no-fund', '--no-package-lock', '--loglevel=error']
    await run(['npm', 'install', ...options, `${kind}@${version}`], { ...place, folder })
  }
  return programs
}

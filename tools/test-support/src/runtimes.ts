/**
 * The runtimes on which tests run beside Bun: `tools/runtimes` has them, with a lockfile of its own, and `npm test`
 * installs them when a job needs one.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const folder = fileURLToPath(new URL('../../runtimes/', import.meta.url))

/** The program of Deno. */
export const DENO = `${folder}node_modules/.bin/deno`

/** The newest Node LTS. */
export function newestNode(): string {
  return nodeOf('node-lts')
}

/** The oldest supported Node: that on the PATH, if it has the same major version. */
export function oldestNode(): string {
  return spawnSync('node', ['--version'], { encoding: 'utf8' }).stdout?.startsWith('v20.')
    ? 'node'
    : nodeOf('node-oldest')
}

/** The registry has no Node for some platforms; there it is the Node on the PATH. */
function nodeOf(name: string): string {
  const { optionalDependencies } = JSON.parse(readFileSync(`${folder}package.json`, 'utf8')) as {
    optionalDependencies: Readonly<Record<string, string>>
  }
  const platform = `${name}-${process.platform}-${process.arch}`
  return platform in optionalDependencies ? `${folder}node_modules/${platform}/bin/node` : 'node'
}

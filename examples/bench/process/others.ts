/**
 * The peers besides Nest, HTTP frameworks and `autocannon`. They have as many packages as the rest of this repository,
 * so they have their own lockfile, and are installed when one of them is first measured.
 */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync
} from 'node:fs'
import { join } from 'node:path'
import { BenchError } from '../errors.ts'
import { BENCH_FOLDER } from './folder.ts'
import type { Runtime } from './runtime.ts'

export const OTHERS = join(BENCH_FOLDER, 'others')
const MODULES = join(OTHERS, 'node_modules')
/** The file with the hash of the lockfile that was last installed. */
const STAMP = join(MODULES, '.installed')
const BUILT = join(BENCH_FOLDER, 'dist', 'others')

/** Whether a program belongs to these peers. The program is a path below the bench's folder. */
export const isOther = (program: string | null): boolean => program?.startsWith('others/') === true

/**
 * Installs these peers if they are not installed as their lockfile says, and compiles them for Node. One line on
 * stderr reports this.
 *
 * @throws BenchError this fails; the message has the output of the tool
 */
export function prepareOthers(runtimes: readonly (Runtime | 'go')[]): void {
  const lock = readFileSync(join(OTHERS, 'package-lock.json'), 'utf8')
  const wanted = createHash('sha256').update(lock).digest('hex')
  if (!existsSync(STAMP) || readFileSync(STAMP, 'utf8') !== wanted) {
    const { packages } = JSON.parse(lock) as { packages: object }
    const count = Object.keys(packages).length - 1
    console.error(
      `Installing the other peers, only once: npm ci in examples/bench/others, up to ${count} packages`
    )
    run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'])
    writeFileSync(STAMP, wanted)
  }
  if (!runtimes.includes('node') || isBuilt()) return
  run(join(BENCH_FOLDER, '..', '..', 'node_modules', '.bin', 'tsc'), ['-b'])
  // Node searches for packages beside the program that it runs.
  const link = join(BUILT, 'node_modules')
  if (lstatSync(link, { throwIfNoEntry: false }) === undefined) symlinkSync(MODULES, link)
}

function isBuilt(): boolean {
  const info = join(BUILT, '.tsbuildinfo')
  if (!existsSync(info) || !existsSync(join(BUILT, 'node_modules'))) return false
  const sources = readdirSync(OTHERS, { recursive: true, encoding: 'utf8' }).filter(
    (file) => file.endsWith('.ts') && !file.startsWith('node_modules')
  )
  return sources.every((file) => statSync(join(OTHERS, file)).mtimeMs < statSync(info).mtimeMs)
}

function run(command: string, args: readonly string[]): void {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd: OTHERS, encoding: 'utf8' })
  if (status === 0) return
  const said = error?.message ?? `${stderr}${stdout}`.trim()
  throw new BenchError(`The other peers could not be prepared: ${args.join(' ')} failed: ${said}`)
}

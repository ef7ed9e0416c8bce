/**
 * Installs the packages of a folder with a lockfile of its own, unless they are there: those that few commands need,
 * which `npm ci` at the root leaves out.
 *
 *   bun tools/scripts/install.ts tools/runtimes
 */
import { statSync } from 'node:fs'
import { spawnSync } from 'bun'

const [folder] = process.argv.slice(2)
const [wanted, installed] = ['package-lock.json', 'node_modules/.package-lock.json'].map(
  (file) => statSync(`${folder}/${file}`, { throwIfNoEntry: false })?.mtimeMs ?? 0
) as [number, number]
if (installed < wanted) {
  const flags = ['--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error']
  const { exitCode } = spawnSync(['npm', 'ci', ...flags], {
    cwd: folder as string,
    stdout: 'inherit',
    stderr: 'inherit'
  })
  process.exit(exitCode)
}

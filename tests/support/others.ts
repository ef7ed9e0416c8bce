/**
 * Packages that only nightly tests use. They would be a third of all installed packages of this repository, so they
 * have a lockfile of their own in `tests/others`, and are installed when a test first uses one.
 */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { buildOnce } from '../interop/toolchains.ts'
import { testsFolder } from '../workspace.ts'

const folder = join(testsFolder, 'others')

/** The exports of a file of `tests/others`. */
export async function fromOthers<Exports>(name: string): Promise<Exports> {
  return (await import(await fileOfOthers(name))) as Exports
}

/** The URL of a file of `tests/others`, whose packages are installed by then. */
export async function fileOfOthers(name: string): Promise<string> {
  await buildOnce(
    join(folder, 'node_modules'),
    [process.platform, process.arch],
    ['package-lock.json'],
    folder,
    async () => {
      const npm = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
      await promisify(execFile)('npm', npm, { cwd: folder })
    }
  )
  return pathToFileURL(join(folder, `${name}.mjs`)).href
}

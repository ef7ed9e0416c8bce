/** Fetches the program of an engine with Python's pip. Some engines have a package there but not on npm. */
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { hasApt } from './apt-get.ts'
import { type Command, pipByApt } from './apt-pip.ts'
import type { Fetching } from './engine.ts'
import { fetchInto } from './fetch-into.ts'

const run = promisify(execFile)

/** The machine's pip. */
const PIP: Command = { file: 'python3', args: ['-m', 'pip'], env: process.env }

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
 * Fetches a package with the machine's pip.
 * @returns `true` if the package was fetched; `false` if this machine has no pip
 * @throws {Error} pip has failed, with its reason
 */
export async function fetchByPip(wanted: PipPackage, { folder, say, signal }: Fetching): Promise<boolean> {
  if (!(await hasPip(signal))) return false
  say(`pip fetches ${wanted.name} ${wanted.version}, once for this project`)
  await fetchInto(folder, folderOf(wanted), (part) => install(PIP, wanted, part, signal))
  return true
}

/**
 * Fetches a package with a pip that is fetched by apt, and removed afterwards.
 * @returns `true` if the package was fetched; `false` if this machine has a pip, or no apt
 * @throws {Error} apt or pip has failed, with its reason
 */
export async function fetchByPipOfApt(
  wanted: PipPackage,
  { folder, say, signal }: Fetching
): Promise<boolean> {
  if ((await hasPip(signal)) || !(await hasApt(signal))) return false
  say(`apt fetches Python's pip, which fetches ${wanted.name} ${wanted.version}, once for this project`)
  await fetchInto(folder, folderOf(wanted), async (part) =>
    install(await pipByApt(join(part, 'pip'), signal), wanted, part, signal)
  )
  return true
}

async function hasPip(signal: AbortSignal): Promise<boolean> {
  return (await run(PIP.file, [...PIP.args, '--version'], { signal }).catch(() => undefined)) !== undefined
}

/** Installs a package into the folder `package` of a folder. */
async function install(
  { file, args, env }: Command,
  { name, version, hashes }: PipPackage,
  part: string,
  signal: AbortSignal
): Promise<void> {
  const list = join(part, 'requirements.txt')
  const sums = hashes.map((hash) => ` --hash=sha256:${hash}`)
  writeFileSync(list, `${name}==${version}${sums.join('')}\n`)
  const how = [
    '--quiet',
    '--disable-pip-version-check',
    '--no-deps',
    '--only-binary=:all:',
    '--require-hashes'
  ]
  const what = ['-r', list, '--target', join(part, 'package')]
  await run(file, [...args, 'install', ...how, ...what], { env, signal }).catch((error) => {
    throw new Error(reasonOf(error as Error & { readonly stderr?: string }))
  })
}

const folderOf = ({ name, version }: PipPackage): string => `${name}-${version}`

/** The last line that pip has marked as an error. */
function reasonOf({ stderr = '', message }: Error & { readonly stderr?: string }): string {
  const lines = stderr.split('\n').filter((line) => line.startsWith('ERROR: '))
  return lines.at(-1)?.slice('ERROR: '.length).trim() ?? (message.split('\n')[0] as string)
}

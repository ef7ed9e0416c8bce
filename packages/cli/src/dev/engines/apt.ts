/** Fetches the program of an engine with Debian's apt. This needs no root, because the package is not installed. */
import { execFile } from 'node:child_process'
import { mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Fetching } from './engine.ts'
import { fetchInto } from './fetch-into.ts'

const run = promisify(execFile)

/** A package of Debian and distributions based on it. */
export interface AptPackage {
  readonly name: string
  /** The oldest version that will do. */
  readonly since: readonly [major: number, minor: number]
}

/** The folder with the programs of a Debian package. @param folder the folder of all fetched programs */
export function aptFolder({ name }: AptPackage, folder: string): string {
  return join(folder, `${name}-apt`, 'usr/sbin')
}

/**
 * Fetches the system's version of a package. apt checks the package by the signature of Debian, or of another
 * distribution.
 * @returns `true` if the package was fetched; `false` if this machine has no apt
 * @throws {Error} apt has failed, with its reason
 */
export async function fetchByApt(
  { name, since }: AptPackage,
  { folder, say, signal }: Fetching
): Promise<boolean> {
  const apt = await run('apt-get', ['--version'], { signal }).catch(() => undefined)
  if (apt === undefined) return false
  say(`apt fetches ${name}, once for this project`)
  await fetchInto(folder, `${name}-apt`, async (part) => {
    try {
      await download(name, part, signal)
      const [archive] = readdirSync(part).filter((file) => file.endsWith('.deb'))
      if (archive === undefined) throw new Error(`apt-get download ${name} has fetched nothing`)
      const { stdout } = await run('dpkg-deb', ['--field', archive, 'Version'], { cwd: part, signal })
      if (!isSince(stdout, since))
        throw new Error(`apt has ${name} ${stdout.trim()}, and ${since.join('.')} or later is needed`)
      await run('dpkg-deb', ['--extract', archive, 'package'], { cwd: part, signal })
    } catch (error) {
      throw new Error(reasonOf(error as Error & { readonly stderr?: string }))
    }
  })
  return true
}

/** Downloads a package into a folder. If apt has no package lists, as in container images, they are downloaded first. */
async function download(name: string, folder: string, signal: AbortSignal): Promise<void> {
  const apt = (...args: string[]) => run('apt-get', ['--quiet', ...args], { cwd: folder, signal })
  try {
    await apt('download', name)
  } catch {
    const [lists, cache] = [join(folder, 'lists'), join(folder, 'cache')]
    for (const each of [lists, cache]) mkdirSync(join(each, 'partial'), { recursive: true })
    const own = ['-o', `Dir::State::Lists=${lists}`, '-o', `Dir::Cache=${cache}`]
    await apt(...own, 'update')
    await apt(...own, 'download', name)
  }
}

function isSince(version: string, [major, minor]: AptPackage['since']): boolean {
  const [ownMajor = 0, ownMinor = 0] = version.split('.').map(Number)
  return ownMajor > major || (ownMajor === major && ownMinor >= minor)
}

/** The first line that apt has marked as an error. */
function reasonOf({ stderr = '', message }: Error & { readonly stderr?: string }): string {
  const line = stderr.split('\n').find((each) => each.startsWith('E: '))
  return line?.slice('E: '.length).trim() ?? (message.split('\n')[0] as string)
}

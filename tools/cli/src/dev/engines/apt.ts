/** Fetches the program of an engine with Debian's apt. */
import { join } from 'node:path'
import { download, extract, fieldOf, hasApt } from './apt-get.ts'
import type { Fetching } from './engine.ts'
import { fetchInto } from './fetch-into.ts'

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
 * Fetches the system's version of a package.
 * @returns `true` if the package was fetched; `false` if this machine has no apt
 * @throws {Error} apt has failed, with its reason
 */
export async function fetchByApt(
  { name, since }: AptPackage,
  { folder, say, signal }: Fetching
): Promise<boolean> {
  if (!(await hasApt(signal))) return false
  say(`apt fetches ${name}, once for this project`)
  await fetchInto(folder, `${name}-apt`, async (part) => {
    const [archive] = await download(['download', name], part, signal)
    if (archive === undefined) throw new Error(`apt-get download ${name} has fetched nothing`)
    const version = await fieldOf(archive, 'Version', signal)
    if (!isSince(version, since))
      throw new Error(`apt has ${name} ${version}, and ${since.join('.')} or later is needed`)
    await extract(archive, join(part, 'package'), signal)
  })
  return true
}

function isSince(version: string, [major, minor]: AptPackage['since']): boolean {
  const [ownMajor = 0, ownMinor = 0] = version.split('.').map(Number)
  return ownMajor > major || (ownMajor === major && ownMinor >= minor)
}

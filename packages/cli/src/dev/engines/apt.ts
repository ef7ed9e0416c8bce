/** Fetches the program of an engine by Debian's apt: it needs neither root nor an installation. */
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Fetching } from './engine.ts'

const run = promisify(execFile)

/** Where the programs of a package of Debian lie. @param folder of all programs that were fetched */
export function aptFolder(name: string, folder: string): string {
  return join(folder, `${name}-apt`, 'usr/sbin')
}

/**
 * Fetches a package. Its version is the system's: apt checks the package by the signature of Debian, or of the
 * distribution.
 * @returns whether it is there; `false`: this machine has no apt
 * @throws {Error} apt says why it cannot
 */
export async function fetchByApt(name: string, { folder, say, signal }: Fetching): Promise<boolean> {
  const apt = await run('apt-get', ['--version'], { signal }).catch(() => undefined)
  if (apt === undefined) return false
  say(`apt fetches ${name}, once for this project`)
  mkdirSync(folder, { recursive: true })
  // Fetched into a folder of its own first, so that a part is never taken for the whole.
  const part = mkdtempSync(join(folder, 'part-'))
  try {
    await download(name, part, signal)
    const [archive] = readdirSync(part).filter((file) => file.endsWith('.deb'))
    if (archive === undefined) throw new Error(`apt-get download ${name} has fetched nothing`)
    const target = join(part, 'package')
    await run('dpkg-deb', ['--extract', archive, target], { cwd: part, signal })
    const place = join(folder, `${name}-apt`)
    if (!existsSync(place)) renameSync(target, place)
    return true
  } catch (error) {
    throw new Error(reasonOf(error as Error & { readonly stderr?: string }))
  } finally {
    rmSync(part, { recursive: true, force: true })
  }
}

/** Into a folder. Images of containers have no lists of packages: then it fetches those first, beside the package. */
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

/** The first line in which apt calls something an error. */
function reasonOf({ stderr = '', message }: Error & { readonly stderr?: string }): string {
  const line = stderr.split('\n').find((each) => each.startsWith('E: '))
  return line?.slice('E: '.length).trim() ?? (message.split('\n')[0] as string)
}

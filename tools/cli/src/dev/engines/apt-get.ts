/** Downloads packages with Debian's apt. This needs no root, because nothing is installed. */
import { execFile } from 'node:child_process'
import { mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** Whether this machine has apt. */
export async function hasApt(signal: AbortSignal): Promise<boolean> {
  return (await run('apt-get', ['--version'], { signal }).catch(() => undefined)) !== undefined
}

/**
 * Downloads packages into a folder of its own. If apt has no package lists, as in container images, or old ones, they
 * are downloaded first. apt checks the packages by the signature of Debian, or of another distribution.
 * @param command the command of apt-get with the names of the packages
 * @returns the paths of the packages
 * @throws {Error} apt has failed, with its reason
 */
export async function download(
  command: readonly string[],
  folder: string,
  signal: AbortSignal
): Promise<string[]> {
  const [lists, cache] = [join(folder, 'lists'), join(folder, 'cache')]
  const archives = join(cache, 'archives')
  for (const each of [lists, archives]) mkdirSync(join(each, 'partial'), { recursive: true })
  // apt's locks belong to root. As nothing is installed, none is needed.
  const own = ['--quiet', '-o', `Dir::Cache=${cache}`, '-o', 'Debug::NoLocking=true']
  const apt = (...args: readonly string[]) => run('apt-get', [...own, ...args], { cwd: archives, signal })
  try {
    await apt(...command)
  } catch {
    const fresh = ['-o', `Dir::State::Lists=${lists}`]
    await apt(...fresh, 'update').catch(fails)
    await apt(...fresh, ...command).catch(fails)
  }
  const files = readdirSync(archives).filter((file) => file.endsWith('.deb'))
  return files.map((file) => join(archives, file))
}

/** A field of a package, such as `Version`. */
export async function fieldOf(archive: string, field: string, signal: AbortSignal): Promise<string> {
  const { stdout } = await run('dpkg-deb', ['--field', archive, field], { signal }).catch(fails)
  return stdout.trim()
}

/** Unpacks a package into a folder. */
export async function extract(archive: string, folder: string, signal: AbortSignal): Promise<void> {
  await run('dpkg-deb', ['--extract', archive, folder], { signal }).catch(fails)
}

/** Throws the first line that apt has marked as an error. */
function fails({ stderr = '', message }: Error & { readonly stderr?: string }): never {
  const line = stderr.split('\n').find((each) => each.startsWith('E: '))
  throw new Error(line?.slice('E: '.length).trim() ?? message.split('\n')[0])
}

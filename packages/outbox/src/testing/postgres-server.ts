/** A real PostgreSQL server that can be killed, started again with its data, and copied as a standby. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from '@elysia-microservices/test-support'
import { binaries, type RunAs, runAs } from './postgres-binaries.ts'

/** The folder in which an initialised data directory is kept for each version. */
const CACHE = fileURLToPath(new URL('../../../../node_modules/.cache/initdb', import.meta.url))

/** The running servers, which are ended together with this process. */
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

/** Copies the content of a folder, with its owner and modes. */
function copy(from: string, to: string): void {
  const { status, stderr, error } = spawnSync('cp', ['-a', `${from}/.`, to], { encoding: 'utf8' })
  if (status !== 0) throw new Error(`${from} cannot be copied: ${error?.message ?? stderr}`)
}

/** A server with its data directory. */
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

  /** @param flags command-line flags of the server, such as `-c`, `max_connections=10` */
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

  /** Creates the data directory. `initdb` uses a processor for most of a second, so its result is kept and copied. */
  #initialise(): void {
    const version = this.#run(join(this.#bin, 'postgres'), '--version').replaceAll(/[^\w.]+/g, '-')
    const kept = join(CACHE, version)
    if (existsSync(kept)) return copy(kept, this.#data)
    // Killing processes cannot lose data that the operating system already has, so nothing here needs to wait for
    // the disk.
    const options = ['--auth=trust', '--no-sync', '--encoding=UTF8', '--locale=C']
    this.#run(join(this.#bin, 'initdb'), '-D', this.#data, '-U', 'postgres', ...options)
    mkdirSync(CACHE, { recursive: true })
    const own = mkdtempSync(`${kept}-`)
    copy(this.#data, own)
    try {
      renameSync(own, kept)
    } catch {
      // Another process has created the directory in the meantime.
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

  /** Starts the server again after `kill()`. This includes its recovery. */
  async start(): Promise<void> {
    // The processes of a killed server need a moment to notice and end. Until then their shared memory prevents a
    // new start.
    for (let attempt = 0; !(await this.#spawn()); attempt++) {
      if (attempt === 50) throw new Error(`PostgreSQL does not start: ${this.#lines.slice(-20).join('')}`)
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }

  /** @returns true when the server is ready, false if it has ended */
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

  /** Kills the server's main process with SIGKILL; its other processes end when they notice. */
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

  /** Ends the server when this process exits, where nothing asynchronous can be awaited. */
  abandon(): void {
    const pid = this.#running?.pid
    this.#running?.kill('SIGQUIT')
    // The ended process stays a zombie, because its exit status is not read while this process waits.
    const isGone = `[ ! -d /proc/${pid} ] || grep -q '^State:.Z' /proc/${pid}/status`
    if (pid !== undefined)
      spawnSync('sh', ['-c', `for i in $(seq 50); do { ${isGone}; } && exit; sleep 0.02; done`])
    this.#remove()
  }

  #remove(): void {
    running.delete(this)
    // Processes of a killed server go on writing until they notice.
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 50, retryDelay: 50 })
  }

  /**
   * Makes a standby: a copy of this server that replicates from it until `promote()`. This server is stopped while
   * it is copied.
   */
  async standby(): Promise<PostgresServer> {
    const copy = await PostgresServer.#make(this.#flags)
    await this.#end('SIGINT')
    // The copy is made as the server's user, so that the files belong to this user.
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

  /** Makes this standby a primary server. */
  async promote(): Promise<void> {
    await this.#query('select pg_promote()')
  }

  async #query(text: string): Promise<void> {
    const { default: pg } = await import('pg')
    const client = new pg.Client(this.address('postgres'))
    await client.connect()
    await client.query(text)
    await client.end()
  }

  /** Creates an empty database and returns its address. */
  async database(name = `test${++this.#databases}`): Promise<string> {
    await this.#query(`create database ${name}`)
    return this.address(name)
  }

  /** The address of an existing database. */
  address(name: string): string {
    return `postgres://postgres:password@127.0.0.1:${this.#port}/${name}`
  }
}

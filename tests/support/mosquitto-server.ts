/** Real mosquitto servers, on ports of this machine. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { EngineProcess, freePort, isOnPath, once } from '@elysia-microservices/test-support'
import { ownFolder } from './own-folder.ts'

/** Debian installs the program in a folder that is only on the PATH of administrators. */
const PROGRAMS = ['mosquitto', '/usr/sbin/mosquitto']

const program = once(() => PROGRAMS.find(isOnPath))

/** The program that this machine lacks to run mosquitto; `undefined`: none. */
export function mosquittoMissing(): string | undefined {
  return program() === undefined ? 'mosquitto on the PATH' : undefined
}

/** A server that loses its data when it ends. */
export class MosquittoProcess extends EngineProcess {
  readonly #folder = ownFolder('mosquitto')
  readonly #config: readonly string[]

  private constructor(port: number, config: readonly string[]) {
    super(port, [])
    this.#config = config
  }

  /**
   * Starts a server. @param config lines of its configuration besides the port. Default: all clients may do
   * everything
   */
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
    // If the tests run as root, mosquitto would switch to another user, who cannot read the files of the tests.
    writeFileSync(file, ['user root', `listener ${this.port} 127.0.0.1`, ...this.#config, ''].join('\n'))
    return [program() ?? 'mosquitto', '-c', file]
  }
}

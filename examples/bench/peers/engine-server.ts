/**
 * The server of an engine, for one target. The server ends with the process that has started it, however that process
 * ends.
 */
import { spawn } from 'node:child_process'
import net from 'node:net'
import { BenchError } from '../errors.ts'
import { freePort } from '../process/free-port.ts'

/** The time limit for listening in milliseconds: some servers need long on a processor with other work. */
const PATIENCE = 120_000

/** The address of the server, and the function to stop it. */
export interface EngineServer {
  readonly port: number
  stop(): Promise<void>
}

/** How the server is started. */
interface Start {
  /** The arguments with which the server listens on a port. */
  flags(port: number): readonly string[]
  /** Advice if the server does not listen. */
  readonly advice: string
}

/**
 * Starts the server.
 * @param port 0: any free port
 * @throws {BenchError} the server does not listen
 */
export async function startEngine(
  command: string,
  host: string,
  port: number,
  { flags, advice }: Start
): Promise<EngineServer> {
  const wanted = port === 0 ? await freePort(host) : port
  // A shell ends the server when the shell's input ends, which also happens if this process is killed.
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

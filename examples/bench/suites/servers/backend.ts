/** The service behind a gateway: a process of its own, which ends with the gateway. */
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { commandFor, currentRuntime } from '../../process/runtime.ts'

/**
 * Starts it with the arguments of the gateway.
 *
 * @returns the port it listens on
 */
export function startBackend(program: string): Promise<number> {
  const [command, ...args] = commandFor(currentRuntime, program)
  const given = process.argv.slice(2).filter((arg) => !arg.startsWith('--port'))
  // It ends when its stdin does, which this process holds open.
  const child = spawn(command!, [...args, ...given, '--port=0', '--with-parent'], {
    stdio: ['pipe', 'pipe', 'inherit']
  })
  return new Promise((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`${program} ended with code ${code}`)))
    createInterface({ input: child.stdout }).on('line', (line) => {
      const port = /^listening on tcp:\/\/.+:(\d+)$/.exec(line)?.[1]
      if (port !== undefined) resolve(Number(port))
    })
  })
}

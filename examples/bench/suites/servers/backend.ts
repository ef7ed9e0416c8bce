/** The service behind a gateway: a process of its own, which ends together with the gateway. */
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { commandFor, currentRuntime } from '../../process/runtime.ts'

/**
 * Starts the service with the arguments of the gateway.
 *
 * @returns the port of the service
 */
export function startBackend(program: string): Promise<number> {
  const [command, ...args] = commandFor(currentRuntime, program)
  const given = process.argv.slice(2).filter((arg) => !arg.startsWith('--port'))
  // The service ends when its stdin ends, which this process keeps open.
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

/** Starts a program of this example as a user would. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import net from 'node:net'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

/** Under Node the tests run in compiled form, and so do the programs. */
const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js'

/** A program that listens on a port. */
export interface Program {
  readonly port: number
  /** The lines that the program has printed. */
  readonly lines: readonly string[]
  /** Stops the program by SIGTERM, and waits until it has ended. */
  stop(): Promise<void>
}

export async function start(name: string, env: Readonly<Record<string, string>> = {}): Promise<Program> {
  const port = await freePort()
  const child = spawn(
    process.execPath,
    [fileURLToPath(new URL(`src/${name}.${extension}`, import.meta.url))],
    { env: { ...process.env, ...env, PORT: String(port) }, stdio: ['ignore', 'pipe', 'inherit'] }
  )
  const closed = once(child, 'close')
  const lines: string[] = []
  const output = createInterface(child.stdout)
  await new Promise<void>((resolve, reject) => {
    output.on('line', (line) => {
      lines.push(line)
      if (line === `listening on port ${port}`) resolve()
    })
    child.once('exit', (code) => reject(new Error(`${name} ended with ${code}`)))
  })
  return {
    port,
    lines,
    async stop() {
      child.kill('SIGTERM')
      await closed
    }
  }
}

/** A free port for the application: NestJS does not report the port if it chooses one itself. */
async function freePort(): Promise<number> {
  const server = net.createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as net.AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

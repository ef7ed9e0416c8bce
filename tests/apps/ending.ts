/** Sends a program SIGTERM, and measures the time until its process has ended. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { DENO, freePort, Log, within } from '@elysia-microservices/test-support'
import { NatsServerProcess, natsMissing } from '../support/nats-server.ts'
import { type Postgres, startPostgres } from '../support/postgres.ts'
import { bun, programFile, rootFolder, testsFolder, underBun } from '../workspace.ts'

/** A runtime that the program runs on. */
export type Runtime = 'Bun' | 'Node' | 'Deno'

/** The parts of each process, as arguments of the program. */
export const PROCESSES: readonly (readonly string[])[] = [
  [],
  ['http'],
  ['http', 'no shutdownOn'],
  ['client'],
  ['http', 'client'],
  ['http', 'client', 'open stream'],
  ['telemetry', 'http'],
  ['interval'],
  ['http', 'interval'],
  ['nats'],
  ['http', 'nats'],
  ['http', 'nats', 'outbox'],
  ['http', 'client', 'nats', 'outbox', 'telemetry', 'interval']
]

/** How a process has ended. */
export interface Ended {
  /** Milliseconds from the signal until the process was gone. */
  readonly time: number
  readonly code: number | null
  readonly log: Log
}

/** The servers that the program uses, and its running processes. */
export class Endings {
  #nats: NatsServerProcess | undefined
  #postgres: Postgres | undefined
  readonly #running = new Set<ChildProcess>()

  /** Why a process cannot be run on this machine; `undefined`: it can. */
  missing(parts: readonly string[]): string | undefined {
    return parts.includes('nats') ? natsMissing() : undefined
  }

  /** Starts the program, and resolves when all its parts run. */
  async start(
    runtime: Runtime,
    parts: readonly string[]
  ): Promise<{ readonly child: ChildProcess; readonly log: Log; readonly port: number }> {
    // If one of these two variables is set, Elysia's adapter for Node does not listen to signals.
    const { CI: _ci, TEST: _test, ...env } = process.env
    if (parts.includes('nats')) {
      this.#nats ??= await NatsServerProcess.start()
      env['NATS_URL'] = this.#nats.url
    }
    if (parts.includes('outbox')) {
      this.#postgres ??= await startPostgres()
      env['DATABASE_URL'] = await this.#postgres.database()
    }
    const port = await freePort()
    env['HTTP_PORT'] = String(port)
    const [command, ...args] = commandOf(runtime)
    const program = programFile('apps/ending-program', runtime === 'Bun')
    const child = spawn(command as string, [...args, program, ...parts], {
      cwd: testsFolder,
      env,
      stdio: ['ignore', 'pipe', 'pipe']
    })
    this.#running.add(child)
    child.once('exit', () => this.#running.delete(child))
    const log = new Log()
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        for (const line of text.split('\n')) log.add(line)
      })
    }
    const ended = once(child, 'exit').then(([code]) => {
      throw new Error(`The program has ended with ${code} before it was ready:\n${log.lines.join('\n')}`)
    })
    ended.catch(() => {})
    await within(Promise.race([log.has('ready'), ended]), 'The start')
    return { child, log, port }
  }

  /** Starts the program and sends it SIGTERM. Rejects if the process has not ended within 20 s. */
  async measure(runtime: Runtime, parts: readonly string[]): Promise<Ended> {
    const { child, log } = await this.start(runtime, parts)
    const exited = once(child, 'exit')
    const begun = performance.now()
    child.kill('SIGTERM')
    try {
      const [code] = (await within(exited, 'The end', 20_000)) as [number | null]
      return { time: performance.now() - begun, code, log }
    } catch (error) {
      throw new Error(`${(error as Error).message}\n${log.lines.join('\n')}`)
    }
  }

  async close(): Promise<void> {
    for (const child of this.#running) child.kill('SIGKILL')
    await this.#nats?.stop()
    await this.#postgres?.stop()
  }
}

function commandOf(runtime: Runtime): readonly string[] {
  if (runtime === 'Bun') return [bun]
  if (runtime === 'Node') return [underBun ? 'node' : process.execPath]
  // Elysia's adapter uses SO_REUSEPORT, which Deno only has with a flag.
  return [DENO, 'run', '-A', '--no-check', '--unstable-net']
}

/** The page with the table of the times until processes end. */
export const stoppingPage = `${rootFolder}docs/stopping.md`

/** The first cells of the row for a process in that table. */
export function rowOf(parts: readonly string[]): string {
  return `| ${parts.length === 0 ? 'nothing' : parts.map((part) => WORDS[part] ?? part).join(', ')} |`
}

const WORDS: Readonly<Record<string, string>> = {
  http: 'HTTP of an app',
  'no shutdownOn': 'without `shutdownOn`',
  client: 'a client',
  'open stream': 'streams that never end, of HTTP and of the client; `drain` is 2 s',
  telemetry: 'telemetry, metrics',
  interval: 'a forgotten interval',
  nats: 'the service over NATS too',
  outbox: 'a relay of an outbox, not stopped, with its client and pool'
}

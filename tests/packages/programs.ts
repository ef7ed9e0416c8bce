/** Programs that run until they are ended. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { promisify } from 'node:util'
import { Log, until, within } from '@elysia-microservices/test-support'
import type { Image } from './dockerfile.ts'

/** Running programs, and their output. */
export class Programs {
  readonly log = new Log()
  readonly #running: { readonly child: ChildProcess; readonly closed: Promise<unknown> }[] = []

  /**
   * Starts a program, and resolves when its health check succeeds. @throws {Error} the program ends before; the
   * message has its log
   */
  async start(
    cwd: string,
    { command, healthcheck }: Pick<Image, 'command' | 'healthcheck'>,
    env: NodeJS.ProcessEnv
  ): Promise<void> {
    const child = spawn(command[0] as string, command.slice(1), {
      cwd,
      env,
      stdio: ['ignore', 'pipe', 'pipe']
    })
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => this.log.add(text.trimEnd()))
    this.#running.push({ child, closed: once(child, 'close') })
    await until(`${command.join(' ')} is healthy`, () => {
      if (hasEnded(child)) throw new Error(`${command.join(' ')} has ended:\n${this.log.lines.join('\n')}`)
      return promisify(execFile)(healthcheck[0] as string, healthcheck.slice(1), { env }).then(
        () => true,
        () => false
      )
    })
  }

  /** Ends the programs with a signal, the last first. @returns exit codes and signals */
  async stop(signal: NodeJS.Signals): Promise<unknown[]> {
    const ends: unknown[] = []
    for (const { child, closed } of this.#running.reverse()) {
      if (!hasEnded(child)) child.kill(signal)
      await within(closed, `The end of ${child.spawnargs.join(' ')}`)
      ends.push([child.exitCode, child.signalCode])
    }
    this.#running.length = 0
    return ends
  }
}

/** Whether a process has ended. */
export function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null
}

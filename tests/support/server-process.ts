/** A server in a process of its own that can be killed and started again on the same port. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { bun, programFile, testsFolder, underBun } from '../workspace.ts'
import { ownCommand } from './runtimes.ts'

/** The program of the process. */
export interface ServerProgram {
  /**
   * The path of the program's source below the tests' folder, without extension. The program prints its address as a
   * line of JSON.
   */
  readonly program: string
  /** The arguments of the program for a port: 0 for any free port; after the first start, the port that it got. */
  arguments(port: number): readonly string[]
  /** The runtime of the program. Default: the runtime of the tests. */
  readonly runtime?: 'other' | undefined
  /** The processor core of the program, if `taskset` is installed. Default: any. */
  readonly cpu?: number | undefined
  /**
   * The megabytes of memory that the program's garbage collector may assume (`environmentOf`). Default: all of the
   * machine.
   */
  readonly memoryMb?: number | undefined
}

/** How a process has ended: its exit code, or the signal that ended it. */
export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/**
 * The environment of a process that behaves as in a container with `memoryMb`: Bun's garbage collector assumes that
 * the machine has no more memory. With many GB, Bun would collect so late that the peak of memory tells more about
 * the machine than about the program.
 */
export function environmentOf(memoryMb: number | undefined): NodeJS.ProcessEnv {
  if (memoryMb === undefined) return process.env
  return { ...process.env, BUN_JSC_forceRAMSize: String(Math.round(memoryMb * 1024 * 1024)) }
}

const running = new Set<ChildProcess>()

/** Ends every server of this process at once. For a program that is interrupted. */
export function killServers(): void {
  for (const child of running) child.kill('SIGKILL')
}

/** A server in its own process. */
export class ServerProcess {
  port = 0
  readonly #program: ServerProgram
  #process: ChildProcess | undefined

  constructor(program: ServerProgram) {
    this.#program = program
  }

  /** The id of the process; `undefined` before the first start. */
  get pid(): number | undefined {
    return this.#process?.pid
  }

  /**
   * Starts the server. Resolves when it listens.
   * @throws {Error} the server has ended before it listened
   */
  async start(): Promise<void> {
    const { program, runtime, cpu, memoryMb } = this.#program
    const isOther = runtime === 'other'
    const other = underBun ? 'node' : bun
    const command = [
      ...(isOther ? [other, programFile(program, !underBun)] : ownCommand(program)),
      ...this.#program.arguments(this.port)
    ]
    const [executable, ...rest] = cpu === undefined ? command : ['taskset', '-c', String(cpu), ...command]
    const started = spawn(executable as string, rest, {
      cwd: testsFolder,
      env: environmentOf(memoryMb),
      // A program that reads its standard input to the end notices when its parent has ended.
      stdio: ['pipe', 'pipe', 'inherit']
    })
    this.#process = started
    running.add(started)
    started.once('exit', () => running.delete(started))
    const ended = once(started, 'exit').then(([code, signal]) => {
      throw new Error(`The server ${program} has ended (${signal ?? code}) before it listened`)
    })
    const [line] = await Promise.race([once(createInterface({ input: started.stdout! }), 'line'), ended])
    ended.catch(() => {})
    this.port = (JSON.parse(line as string) as { port: number }).port
  }

  /** Sends the server a signal, if it runs, and resolves when it has ended. */
  async stop(signal: 'SIGTERM' | 'SIGKILL'): Promise<Ended | undefined> {
    const ending = this.#process
    if (ending === undefined) return undefined
    if (ending.exitCode === null && ending.signalCode === null) {
      const exited = once(ending, 'exit')
      // On Deno, a process that is ended by `ending.kill` has always ended by that signal, whatever it did.
      process.kill(ending.pid as number, signal)
      await exited
    }
    return { code: ending.exitCode, signal: ending.signalCode }
  }
}

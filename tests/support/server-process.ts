/** A server in a process of its own: started, killed, started again where it was. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { bun, programFile, testsFolder, underBun } from '../workspace.ts'

/** The program of the process. */
export interface ServerProgram {
  /** Path of its source below the tests' folder, without extension. It prints its address as a line of JSON. */
  readonly program: string
  /** Its arguments, given the port: 0 for any, later the one it got. */
  arguments(port: number): readonly string[]
  /** Which runtime it runs on. Default: the one the tests run on. */
  readonly runtime?: 'other' | undefined
  /** The CPU it runs on, where `taskset` is there. Default: any. */
  readonly cpu?: number | undefined
  /** Megabytes of the container it runs in, as its garbage collector is told (`environmentOf`). Default: none. */
  readonly memoryMb?: number | undefined
}

/** How a process has ended: its exit code, or the signal that ended it. */
export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/**
 * The environment of a process that runs as in a container of `memoryMb`: Bun's garbage collector is told that the
 * machine has no more memory. Told of many GB, it collects so late that a peak says more of the machine than of the program.
 */
export function environmentOf(memoryMb: number | undefined): NodeJS.ProcessEnv {
  if (memoryMb === undefined) return process.env
  return { ...process.env, BUN_JSC_forceRAMSize: String(Math.round(memoryMb * 1024 * 1024)) }
}

const running = new Set<ChildProcess>()

/** Ends every server that was started here and still runs, at once. For a program that is interrupted. */
export function killServers(): void {
  for (const child of running) child.kill('SIGKILL')
}

/** A server in a process. */
export class ServerProcess {
  port = 0
  readonly #program: ServerProgram
  #process: ChildProcess | undefined

  constructor(program: ServerProgram) {
    this.#program = program
  }

  /** Its process; `undefined` before the first start. */
  get pid(): number | undefined {
    return this.#process?.pid
  }

  /**
   * Resolves when it listens.
   * @throws {Error} it has ended instead
   */
  async start(): Promise<void> {
    const { program, runtime, cpu, memoryMb } = this.#program
    const isOther = runtime === 'other'
    const other = underBun ? 'node' : bun
    const command = [
      isOther ? other : process.execPath,
      programFile(program, underBun !== isOther),
      ...this.#program.arguments(this.port)
    ]
    const [executable, ...rest] = cpu === undefined ? command : ['taskset', '-c', String(cpu), ...command]
    const started = spawn(executable as string, rest, {
      cwd: testsFolder,
      env: environmentOf(memoryMb),
      // A program that reads its stdin to the end learns so that its parent is gone.
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

  /** Sends it a signal, if it runs, and resolves when it has ended. */
  async stop(signal: 'SIGTERM' | 'SIGKILL'): Promise<Ended | undefined> {
    const ending = this.#process
    if (ending === undefined) return undefined
    if (ending.exitCode === null && ending.signalCode === null) {
      const exited = once(ending, 'exit')
      ending.kill(signal)
      await exited
    }
    return { code: ending.exitCode, signal: ending.signalCode }
  }
}

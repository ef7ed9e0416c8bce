/** A measurement in its own process: without the heap, the compiled code and the open sockets of an earlier one. */
import { type ChildProcess, spawn } from 'node:child_process'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { stripVTControlCharacters } from 'node:util'
import { BenchError } from '../errors.ts'
import type { Measurement } from '../report/schema.ts'
import { deferred } from './deferred.ts'
import { BENCH_FOLDER } from './folder.ts'
import { commandFor, type Runtime } from './runtime.ts'

const PROGRAM = 'run-bench'

/** Milliseconds within which processes that the measuring process has started must end after it. */
const LEFTOVER = 5_000

export type BenchFlags = Readonly<Record<string, string | number | true>> & {
  readonly runtime: Runtime | 'go'
}

/** How a process has ended: its exit code, or the signal that ended it; neither: it could not be started. */
interface End {
  readonly code: number | null
  readonly signal: string | null
}

export interface SpawnedBench {
  readonly child: ChildProcess
  readonly exited: Promise<End>
}

/**
 * Starts the measuring process, which ends together with this process, because its stdin then ends. With `pipe`, it
 * and all processes that it starts are a process group, which can be ended as a whole.
 */
export function spawnBench(
  runtime: Runtime,
  flags: readonly string[],
  output: 'inherit' | 'pipe',
  folder = BENCH_FOLDER
): SpawnedBench {
  const [command, ...args] = [...commandFor(runtime, PROGRAM, folder), ...flags, '--with-parent']
  const child = spawn(command!, args, { stdio: ['pipe', output, output], detached: output === 'pipe' })
  const exited = deferred<End>()
  child.once('exit', (code, signal) => exited.resolve({ code, signal }))
  child.once('error', () => exited.resolve({ code: null, signal: null }))
  return { child, exited: exited.promise }
}

export interface Running {
  /** The seconds after which it is given up. */
  readonly limit: number
  /** The folder of another checkout's bench; `undefined`: this one's. */
  readonly folder?: string
}

export class BenchProcess {
  #running: SpawnedBench | undefined
  #stopped = false

  /**
   * Runs `run-bench` with these flags. A measurement with errors is also a result.
   *
   * @throws BenchError there is no result; the message has the reason, or how the process ended
   */
  async measure({ runtime, ...flags }: BenchFlags, { limit, folder }: Running): Promise<Measurement> {
    const given = Object.entries(flags).map(([name, value]) =>
      value === true ? `--${name}` : `--${name}=${value}`
    )
    if (process.stderr.isTTY) given.push('--progress')
    // In a suite, the runtime is only that of the server.
    const under = 'suite' in flags || runtime === 'go' ? 'bun' : runtime
    this.#running = spawnBench(under, [...given, `--runtime=${runtime}`], 'pipe', folder)
    const { child, exited } = this.#running
    let isLate = false
    const watchdog = setTimeout(() => {
      isLate = true
      endGroup(child)
    }, limit * 1000)
    const said = Promise.all([text(child.stdout!), passOn(child.stderr!)])
    const end = await exited
    clearTimeout(watchdog)
    // Processes that it has started end when their stdin ends; one that hangs would keep the pipes open.
    const leftover = setTimeout(() => endGroup(child), LEFTOVER)
    const [output, complaints] = await said
    clearTimeout(leftover)
    this.#running = undefined
    // After a stop, the whole command ends, so nothing may follow.
    if (this.#stopped) return new Promise(() => {})
    if (isLate) throw new BenchError(`the measurement had not ended after ${limit} s and was given up`)
    if (output === '') throw new BenchError(whatBecameOf(end, complaints))
    return JSON.parse(output) as Measurement
  }

  /** Ends a running measurement, which stops its server first. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#running?.child.kill('SIGTERM')
    await this.#running?.exited
  }
}

/** Sends SIGKILL to a process and to all processes that it has started, which may ignore other signals. */
function endGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // All of them have ended.
  }
}

/** Copies to stderr, and resolves to the whole text. */
function passOn(stderr: Readable): Promise<string> {
  stderr.on('data', (chunk: Uint8Array) => process.stderr.write(chunk))
  return text(stderr)
}

/**
 * The last line of the output and the error before it, for example of a server that did not start; without output,
 * how the process ended.
 */
function whatBecameOf({ code, signal }: End, complaints: string): string {
  if (signal !== null) return `the measuring process was ended by ${signal}`
  // Without lines of the stack, and without hints to help.
  const lines = stripVTControlCharacters(complaints)
    .split(/[\r\n]+/)
    .filter((line) => /^\S/.test(line) && !line.startsWith('--help '))
  const reason = lines.at(-1)
  const cause = lines.slice(0, -1).find((line) => /^\w*error: /i.test(line))
  if (reason !== undefined) return cause === undefined ? reason : `${reason} (${cause})`
  return code === null ? 'the measuring process could not be started' : `${PROGRAM} ended with code ${code}`
}

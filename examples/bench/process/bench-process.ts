/** A measurement in a process of its own: no heap, no compiled code and no open socket of an earlier one. */
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

/** Milliseconds that what a measuring process has started gets to end after it. */
const LEFTOVER = 5_000

export type BenchFlags = Readonly<Record<string, string | number | true>> & {
  readonly runtime: Runtime | 'go'
}

/** How a process has ended: the code it chose, or the signal that ended it; neither: it could not be started. */
interface End {
  readonly code: number | null
  readonly signal: string | null
}

export interface SpawnedBench {
  readonly child: ChildProcess
  readonly exited: Promise<End>
}

/**
 * Starts the measuring process; it ends when this one does, because its stdin ends then. With `pipe` it and all that
 * it starts are a group of their own, which can be ended as one.
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
  /** Seconds after which it is given up. */
  readonly limit: number
  /** The bench of another checkout; this one otherwise. */
  readonly folder?: string
}

export class BenchProcess {
  #running: SpawnedBench | undefined
  #stopped = false

  /**
   * Runs `run-bench` with these flags. Also a measurement with errors is a result.
   *
   * @throws BenchError if it gave none, with the reason it gave, or what has become of it
   */
  async measure({ runtime, ...flags }: BenchFlags, { limit, folder }: Running): Promise<Measurement> {
    const given = Object.entries(flags).map(([name, value]) =>
      value === true ? `--${name}` : `--${name}=${value}`
    )
    if (process.stderr.isTTY) given.push('--progress')
    // The runtime of a suite is that of the server alone.
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
    // Its own processes end when its stdin does; one that cannot even do that would keep the pipes open.
    const leftover = setTimeout(() => endGroup(child), LEFTOVER)
    const [output, complaints] = await said
    clearTimeout(leftover)
    this.#running = undefined
    // A stop ends the whole command: nothing may follow.
    if (this.#stopped) return new Promise(() => {})
    if (isLate) throw new BenchError(`the measurement was not over after ${limit} s and was given up`)
    if (output === '') throw new BenchError(whatBecameOf(end, complaints))
    return JSON.parse(output) as Measurement
  }

  /** Ends a measurement that is under way; it stops its server before it goes. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#running?.child.kill('SIGTERM')
    await this.#running?.exited
  }
}

/** SIGKILL for a process and for what it has started, which may not answer to anything less. */
function endGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // Nobody is left.
  }
}

/** Copies to stderr, and resolves to all of it. */
function passOn(stderr: Readable): Promise<string> {
  stderr.on('data', (chunk: Uint8Array) => process.stderr.write(chunk))
  return text(stderr)
}

/** The last thing that was said and the error before it, as of a server that did not start; or else how it ended. */
function whatBecameOf({ code, signal }: End, complaints: string): string {
  if (signal !== null) return `the measuring process was ended by ${signal}`
  // Not where in the code it was, nor where to find help.
  const lines = stripVTControlCharacters(complaints)
    .split(/[\r\n]+/)
    .filter((line) => /^\S/.test(line) && !line.startsWith('--help '))
  const reason = lines.at(-1)
  const cause = lines.slice(0, -1).find((line) => /^\w*error: /i.test(line))
  if (reason !== undefined) return cause === undefined ? reason : `${reason} (${cause})`
  return code === null ? 'the measuring process could not be started' : `${PROGRAM} ended with code ${code}`
}

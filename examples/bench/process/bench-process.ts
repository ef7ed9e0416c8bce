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

export type BenchFlags = Readonly<Record<string, string | number | true>> & { readonly runtime: Runtime }

/** Starts the measuring process; it ends when this one does, because its stdin ends then. */
export function spawnBench(
  runtime: Runtime,
  flags: readonly string[],
  output: 'inherit' | 'pipe',
  folder = BENCH_FOLDER
): { readonly child: ChildProcess; readonly exited: Promise<number | null> } {
  const [command, ...args] = [...commandFor(runtime, PROGRAM, folder), ...flags, '--with-parent']
  const child = spawn(command!, args, { stdio: ['pipe', output, output] })
  const exited = deferred<number | null>()
  child.once('exit', (code) => exited.resolve(code))
  child.once('error', () => exited.resolve(null))
  return { child, exited: exited.promise }
}

export interface Running {
  /** Seconds after which it is given up. */
  readonly limit: number
  /** The bench of another checkout; this one otherwise. */
  readonly folder?: string
}

export class BenchProcess {
  #running: ReturnType<typeof spawnBench> | undefined
  #stopped = false

  /**
   * Runs `run-bench` with these flags. Also a measurement with errors is a result.
   *
   * @throws BenchError if it gave none, with the reason it gave
   */
  async measure({ runtime, ...flags }: BenchFlags, { limit, folder }: Running): Promise<Measurement> {
    const given = Object.entries(flags).map(([name, value]) =>
      value === true ? `--${name}` : `--${name}=${value}`
    )
    if (process.stderr.isTTY) given.push('--progress')
    this.#running = spawnBench(runtime, [...given, `--runtime=${runtime}`], 'pipe', folder)
    const { child, exited } = this.#running
    // Its server ends with it.
    const timer = setTimeout(() => child.kill('SIGKILL'), limit * 1000)
    const [output, complaints, code] = await Promise.all([text(child.stdout!), passOn(child.stderr!), exited])
    clearTimeout(timer)
    this.#running = undefined
    // Whoever stopped it ends the whole command: nothing may follow.
    if (this.#stopped) return new Promise(() => {})
    if (output === '') throw new BenchError(reasonIn(complaints) ?? `${PROGRAM} ended with code ${code}`)
    return JSON.parse(output) as Measurement
  }

  /** Ends a measurement that is under way; it stops its server before it goes. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#running?.child.kill('SIGTERM')
    await this.#running?.exited
  }
}

/** Copies to stderr, and resolves to all of it. */
function passOn(stderr: Readable): Promise<string> {
  stderr.on('data', (chunk: Uint8Array) => process.stderr.write(chunk))
  return text(stderr)
}

/** The last thing that was said, without where in the code and where to find help. */
function reasonIn(complaints: string): string | undefined {
  return stripVTControlCharacters(complaints)
    .split(/[\r\n]+/)
    .filter((line) => /^\S/.test(line) && !line.startsWith('--help '))
    .at(-1)
}

/** A measurement in a process of its own: no heap, no compiled code and no open socket of an earlier one. */
import { join } from 'node:path'
import { BenchError } from '../errors.ts'
import type { Measurement } from '../report/measurement.ts'

const PROGRAM = join(import.meta.dirname, '..', 'run-bench.ts')

export class BenchProcess {
  #child: Bun.Subprocess<'ignore', 'pipe', 'inherit'> | undefined

  /**
   * Runs `run-bench.ts` with these flags. Also a measurement with errors is a result.
   *
   * @throws BenchError if it gave none; the reason is on stderr already
   */
  async measure(flags: Readonly<Record<string, string | number>>): Promise<Measurement> {
    const given = Object.entries(flags).map(([name, value]) => `--${name}=${value}`)
    this.#child = Bun.spawn([process.execPath, PROGRAM, ...given], { stdio: ['ignore', 'pipe', 'inherit'] })
    const output = await this.#child.stdout.text()
    const code = await this.#child.exited
    this.#child = undefined
    if (output === '')
      throw new BenchError(`run-bench.ts ${given.join(' ')} ended with code ${code}, without a result.`)
    return JSON.parse(output) as Measurement
  }

  /** Ends a measurement that is under way; it stops its server before it goes. */
  async stop(): Promise<void> {
    this.#child?.kill('SIGTERM')
    await this.#child?.exited
  }
}

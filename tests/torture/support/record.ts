/**
 * Records the runs of handlers in a file: each run is a line, which is written before the handler goes on. Lines that
 * a process has written are in the system's memory, and are not lost when the process is killed.
 */
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** The writing side, in the process of a server. */
export class RunRecorder {
  readonly #file: number

  constructor(path: string) {
    this.#file = openSync(path, 'a')
  }

  /** Notes that the handler of a request runs. */
  ran(id: number): void {
    writeSync(this.#file, `${id}\n`)
  }
}

/** Reads the file, in the process that makes the requests. */
export class RunRecord {
  readonly #folder = mkdtempSync(join(tmpdir(), 'torture-'))
  readonly path = join(this.#folder, 'runs')

  constructor() {
    // Creates the file, so that it can be read before the first run.
    closeSync(openSync(this.path, 'a'))
    // Deletes the file also if the suite is interrupted.
    process.once('exit', this.#delete)
  }

  /** How often each request ran. */
  read(): ReadonlyMap<number, number> {
    const runs = new Map<number, number>()
    for (const line of readFileSync(this.path, 'utf8').split('\n')) {
      if (line !== '') runs.set(Number(line), (runs.get(Number(line)) ?? 0) + 1)
    }
    return runs
  }

  remove(): void {
    process.off('exit', this.#delete)
    this.#delete()
  }

  readonly #delete = (): void => rmSync(this.#folder, { recursive: true, force: true })
}

/**
 * The runs of handlers, in a file that survives their process: each run is a line, written before the handler
 * goes on. What a process has written is in the system's memory and not lost when it is killed.
 */
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** The writing side, in a server. */
export class RunRecorder {
  readonly #file: number

  constructor(path: string) {
    this.#file = openSync(path, 'a')
  }

  /** The handler of this request runs. */
  ran(id: number): void {
    writeSync(this.#file, `${id}\n`)
  }
}

/** The reading side, where the requests are made. */
export class RunRecord {
  readonly #folder = mkdtempSync(join(tmpdir(), 'torture-'))
  readonly path = join(this.#folder, 'runs')

  constructor() {
    // So that it can be read before the first run.
    closeSync(openSync(this.path, 'a'))
    // A suite that is interrupted leaves nothing behind.
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

/** The guard, as `dev` sees it. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'

/** Tells a process of its own which programs run. */
export class Guard {
  readonly #process: ChildProcess

  constructor() {
    const program = createRequire(import.meta.url).resolve('@elysia-microservices/cli/guard')
    // In a group of its own: what kills this process may kill all of its group.
    const code = `import(${JSON.stringify(pathToFileURL(program).href)}).then(({ guard }) => guard())`
    this.#process = spawn(process.execPath, ['-e', code], {
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore']
    })
    // Without it everything works; only this process must not be killed then.
    this.#process.once('error', () => {})
    this.#process.stdin?.on('error', () => {})
  }

  /** A program runs. */
  add(pid: number): void {
    this.#process.stdin?.write(`+${pid}\n`)
  }

  /** It has ended. */
  remove(pid: number): void {
    this.#process.stdin?.write(`-${pid}\n`)
  }

  /** Everything has ended. */
  async close(): Promise<void> {
    const { pid, exitCode, signalCode, stdin } = this.#process
    if (pid === undefined || exitCode !== null || signalCode !== null) return
    const exited = once(this.#process, 'exit')
    stdin?.end()
    await exited
  }
}

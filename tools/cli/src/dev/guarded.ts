/** Starts the guard, and sends it messages. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'

/** Tells the guard's process which programs run. */
export class Guard {
  readonly #process: ChildProcess

  constructor() {
    const program = createRequire(import.meta.url).resolve('@elysia-microservices/cli/guard')
    // The guard has a process group of its own, because a signal that kills this process may be sent to its whole
    // group.
    const code = `import(${JSON.stringify(pathToFileURL(program).href)}).then(({ guard }) => guard())`
    this.#process = spawn(process.execPath, ['-e', code], {
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore']
    })
    // A failed guard is ignored: everything else works without it, but programs would live on if this process were killed.
    this.#process.once('error', () => {})
    this.#process.stdin?.on('error', () => {})
  }

  /** Reports that a program has been started. */
  add(pid: number): void {
    this.#process.stdin?.write(`+${pid}\n`)
  }

  /** Reports that a program has ended. */
  remove(pid: number): void {
    this.#process.stdin?.write(`-${pid}\n`)
  }

  /** Reports that all programs have ended, and waits for the guard to end. */
  async close(): Promise<void> {
    const { pid, exitCode, signalCode, stdin } = this.#process
    if (pid === undefined || exitCode !== null || signalCode !== null) return
    const exited = once(this.#process, 'exit')
    stdin?.end()
    await exited
  }
}

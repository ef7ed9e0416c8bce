/** Relays in processes of their own, which can be killed. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Driver } from './drivers.ts'
import type { Sink } from './sink.ts'

const program = fileURLToPath(new URL(`./relay-program${extname(import.meta.url)}`, import.meta.url))

export class Relays {
  readonly #running = new Set<ChildProcess>()
  readonly #args: readonly string[]
  /** All of them, for the end of a test that has failed. */
  static readonly all = new Set<Relays>()
  #isKilled = false
  /** How often one has ended by itself. */
  crashes = 0

  constructor(driver: Driver, url: string, sink: Sink) {
    this.#args = [program, driver, url, String(sink.port)]
    Relays.all.add(this)
  }

  /** Starts one. @returns resolves when it has ended, with what ended it */
  start(...step: string[]): { readonly child: ChildProcess; readonly ended: Promise<unknown> } {
    const child = spawn(process.execPath, [...this.#args, ...step], {
      stdio: ['ignore', 'pipe', 'inherit']
    })
    this.#running.add(child)
    const ended = once(child, 'exit').then(([, signal]: unknown[]) => {
      this.#running.delete(child)
      return signal
    })
    return { child, ended }
  }

  /** Starts one, and another whenever it ends by itself, as a supervisor would. */
  async keep(): Promise<void> {
    const { child, ended } = this.start()
    void ended.then((signal) => {
      if (this.#isKilled) return
      this.crashes++
      assert.equal(signal, null)
      void this.keep()
    })
    // A relay whose database is down when it starts ends with that error.
    await once(child.stdout!, 'data')
  }

  async kill(): Promise<void> {
    this.#isKilled = true
    const ended = [...this.#running].map((child) => {
      child.kill('SIGKILL')
      return once(child, 'exit')
    })
    await Promise.all(ended)
  }
}

/** Relays in separate processes, which can be killed. */
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
  /** All objects of this class, to be ended after a failed test. */
  static readonly all = new Set<Relays>()
  #isKilled = false
  /** How often a relay has ended by itself. */
  crashes = 0

  constructor(driver: Driver, url: string, sink: Sink) {
    this.#args = [program, driver, url, String(sink.port)]
    Relays.all.add(this)
  }

  /** Starts a relay. @returns its process, and a promise that resolves with the signal when the process has ended */
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

  /** Keeps a relay running: starts another one whenever it ends by itself, as a supervisor would. */
  async keep(): Promise<void> {
    const { child, ended } = this.start()
    void ended.then((signal) => {
      if (this.#isKilled) return
      this.crashes++
      assert.equal(signal, null)
      void this.keep()
    })
    // If the database is down when a relay starts, the relay ends with that error.
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

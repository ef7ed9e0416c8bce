/** An engine's server in a process of its own, on a port of this machine. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import net from 'node:net'
import { PATIENCE, until } from './within.ts'

const running = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})
// Deno ends a file of tests without this event: its servers, and what they have stored, would stay.
if ('Deno' in globalThis)
  (globalThis as unknown as EventTarget).addEventListener('unload', () => void process.emit('exit', 0))

/** A server that can be killed and started again where it was. */
export abstract class EngineProcess {
  readonly port: number
  readonly #args: readonly string[]
  #process: ChildProcess | undefined

  /** @param args further arguments of the program */
  constructor(port: number, args: readonly string[]) {
    this.port = port
    this.#args = args
  }

  /** Milliseconds it gets to listen. */
  protected readonly patience: number = PATIENCE

  /** The program, and its arguments for this port. */
  protected abstract command(): Promise<readonly [string, ...string[]]>

  get pid(): number {
    return this.#process?.pid ?? 0
  }

  /** Starts it, again if it was stopped. */
  async start(): Promise<void> {
    const [program, ...args] = await this.command()
    const child = spawn(program, [...args, ...this.#args], { stdio: 'ignore' })
    this.#process = child
    running.add(child)
    child.once('exit', () => running.delete(child))
    await until(`${program} on port ${this.port}`, () => accepts(this.port), this.patience)
  }

  /** Ends it. @param signal default: at once */
  async stop(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const child = this.#process
    this.#process = undefined
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    // Nothing else may keep this process until then.
    child.ref()
    child.kill(signal)
    await ended
  }

  /** The process of the tests may end while it runs, and ends it. */
  unref(): void {
    this.#process?.unref()
  }

  /** Stops its process for a while: connections stay, and nothing moves. */
  signal(signal: NodeJS.Signals): void {
    const child = this.#process
    // Deno's `kill` of a child sends only the first signal: a server that was stopped would not go on.
    if (child?.pid !== undefined && child.exitCode === null) process.kill(child.pid, signal)
  }
}

/** Whether something listens on a port. */
function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = net.connect(port, '127.0.0.1')
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}

/** An engine's server in a process of its own, on a port of this machine. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import net from 'node:net'
import { PATIENCE, until } from './within.ts'

const running = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})
// Deno ends a test file without the event `exit`, so servers and their files would remain.
if ('Deno' in globalThis)
  (globalThis as unknown as EventTarget).addEventListener('unload', () => void process.emit('exit', 0))

/** A server that can be killed and started again on the same port with the same data. */
export abstract class EngineProcess {
  readonly port: number
  readonly #args: readonly string[]
  #process: ChildProcess | undefined

  /** @param args further arguments of the program */
  constructor(port: number, args: readonly string[]) {
    this.port = port
    this.#args = args
  }

  /** The milliseconds within which the server must listen. */
  protected readonly patience: number = PATIENCE

  /** The program, and its arguments for the port. */
  protected abstract command(): Promise<readonly [string, ...string[]]>

  get pid(): number {
    return this.#process?.pid ?? 0
  }

  /** Starts the server, for the first time or again. @throws {Error} it has ended, or does not listen in time */
  async start(): Promise<void> {
    const [program, ...args] = await this.command()
    const child = spawn(program, [...args, ...this.#args], { stdio: 'ignore' })
    this.#process = child
    running.add(child)
    child.once('exit', () => running.delete(child))
    const isListening = () => {
      const { exitCode, signalCode } = child
      const how = signalCode ?? exitCode
      if (how !== null) throw new Error(`${this.constructor.name} on port ${this.port} has ended with ${how}`)
      return accepts(this.port)
    }
    await until(`${program} on port ${this.port}`, isListening, this.patience)
  }

  /** Ends the server. @param signal default: SIGKILL */
  async stop(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const child = this.#process
    this.#process = undefined
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    // Keeps this process running until the server has ended.
    child.ref()
    child.kill(signal)
    await ended
  }

  /** Lets the process of the tests end while the server runs; the server is then ended, too. */
  unref(): void {
    this.#process?.unref()
  }

  /** Sends a signal to the server, for example to suspend it: connections stay, but nothing moves. */
  signal(signal: NodeJS.Signals): void {
    const child = this.#process
    // Deno's `kill` of a child process sends only the first signal, so a suspended server would not resume.
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

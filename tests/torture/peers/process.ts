/** The processes of the scenarios: servers that answer commands, and programs that run once and print a result. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface, type Interface } from 'node:readline'
import { within } from '@elysia-microservices/test-support'
import { ownCommand } from '../../support/runtimes.ts'
import { environmentOf } from '../../support/server-process.ts'
import { programFile, testsFolder } from '../../workspace.ts'
import type { Memory } from './memory.ts'

/** The megabytes of memory that the garbage collectors of servers may assume. */
const CONTAINER_MB = 512

/** The figures that a server reports. NestJS reports only its memory and its connections. */
export interface Figures extends Memory {
  readonly connections: number
  readonly inFlight?: number
  readonly streams?: number
  readonly received?: number
  readonly unsent?: number
  /** The number of lost connections that can be resumed, the bytes kept for them, and how many were given up. */
  readonly waiting?: number
  readonly waitingBytes?: number
  readonly givenUp?: number
  /** The number of running handlers. */
  readonly running?: number
  /** The number of keys for which `once` has run more than once. */
  readonly doubled?: number
  /** The number of events that have arrived. */
  readonly noted?: number
}

/** The path of a program beside this file, for the runtime of this process. */
export function fileOf(name: string): string {
  return programFile(`torture/peers/${name}`)
}

const FILES = { ours: 'service', web: 'web-service', grpc: 'grpc-service', nest: 'nest-service' }

/** The kind of server: ours over TCP, WebSocket or gRPC, or NestJS's. */
export type ServerName = keyof typeof FILES

/** A server in its own process. */
export class ServerProcess {
  readonly port: number
  readonly #process: ChildProcess
  readonly #lines: AsyncIterator<string>

  private constructor(child: ChildProcess, lines: AsyncIterator<string>, port: number) {
    this.#process = child
    this.#lines = lines
    this.port = port
  }

  /** Starts a server. @param options the options of its transport, or of its WebSocket door */
  static async start(server: ServerName, options: object = {}): Promise<ServerProcess> {
    const [executable, ...rest] = ownCommand(`torture/peers/${FILES[server]}`)
    const child = spawn(executable, [...rest, JSON.stringify(options)], {
      cwd: testsFolder,
      env: environmentOf(CONTAINER_MB),
      stdio: ['pipe', 'pipe', 'inherit']
    })
    const reader: Interface = createInterface({ input: child.stdout! })
    const lines = reader[Symbol.asyncIterator]()
    const first = await lines.next()
    if (first.done === true) throw new Error(`The server (${server}) has not started`)
    return new ServerProcess(child, lines, (JSON.parse(first.value) as { port: number }).port)
  }

  get alive(): boolean {
    return this.#process.exitCode === null && this.#process.signalCode === null
  }

  /** The server's current figures. Throws if the server has ended or hangs. */
  figures(command: { readonly jump?: number } = {}): Promise<Figures> {
    const answer = async () => {
      this.#process.stdin!.write(`${JSON.stringify(command)}\n`)
      const line = await this.#lines.next()
      if (line.done === true) throw new Error('The server has died')
      return JSON.parse(line.value) as Figures
    }
    return within(answer(), 'An answer of the server')
  }

  /**
   * Repeats the request for figures until they are as expected, or until the time is over. @returns the last figures
   */
  async until(right: (figures: Figures) => boolean, patience: number): Promise<Figures> {
    const end = performance.now() + patience
    while (true) {
      const figures = await this.figures()
      if (right(figures) || performance.now() > end) return figures
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }

  async stop(): Promise<void> {
    if (!this.alive) return
    const exited = once(this.#process, 'exit')
    this.#process.stdin!.end()
    const killer = setTimeout(() => this.#process.kill('SIGKILL'), 10_000)
    await exited
    clearTimeout(killer)
  }
}

/** Runs `test` with a server, and stops the server afterwards. */
export async function withServer<Result>(
  server: ServerName,
  options: object,
  test: (server: ServerProcess) => Promise<Result>
): Promise<Result> {
  const started = await ServerProcess.start(server, options)
  try {
    return await test(started)
  } finally {
    await started.stop()
  }
}

/** Runs a program and reads its last line as JSON. Throws if the program crashes or hangs. */
export async function run<Result>(
  command: string,
  args: readonly string[],
  patience: number,
  progress: (text: string) => void = () => {}
): Promise<Result> {
  const child = spawn(command, args, { cwd: testsFolder, stdio: ['ignore', 'pipe', 'pipe'] })
  let printed = ''
  let complaints = ''
  child.stdout.on('data', (chunk) => {
    printed += chunk
    progress(String(chunk).trim().slice(0, 120))
  })
  child.stderr.on('data', (chunk) => {
    complaints += chunk
  })
  const killer = setTimeout(() => child.kill('SIGKILL'), patience)
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null]
  clearTimeout(killer)
  if (code !== 0)
    throw new Error(`${args.join(' ')} ended with ${code ?? signal}: ${complaints.slice(-2000)}`)
  return JSON.parse(printed.trim().split('\n').at(-1) ?? '') as Result
}

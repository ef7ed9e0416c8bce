/**
 * A program with all processes that it starts, in a process group of its own. So Ctrl-C in the terminal reaches
 * only the command, which then ends the groups one after the other, and processes that a program leaves behind can
 * be found.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { LineSplitter } from './lines.ts'

/** How to start a program. */
export interface Start {
  readonly file: string
  readonly args: readonly string[]
  readonly cwd: string
  readonly env: NodeJS.ProcessEnv
  /** Whether `file` is a shell command line. */
  readonly shell?: boolean | undefined
  /** The user that runs the program; missing for the user of this process. */
  readonly uid?: number | undefined
  readonly gid?: number | undefined
  /** The signal that asks the program to end. Default: SIGTERM. */
  readonly signal?: NodeJS.Signals | undefined
}

/** Receives the lines of a program. */
export interface LineReader {
  /** Takes lines that were written at once. @param isError whether they were written to the error output */
  lines(texts: readonly string[], isError: boolean): void
  /** Whether no more lines are accepted at the moment. */
  readonly isFull: boolean
  onRoom(listener: () => void): void
}

/** How the program's first process has ended. */
export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  /** The error if the program could not be started. */
  readonly error?: Error
}

/** Milliseconds between two checks of a group that is ending. */
const LOOK = 20
/** Milliseconds that killed processes may take to disappear; after that nothing more can be done. */
const KILLED = 2_000

/** Milliseconds to read the last lines of a program that has ended. */
const HELD = 2_000

/** A running program. */
export class ProcessGroup {
  /** Resolves when the first process has ended and all its lines have been read. Never rejects. */
  readonly ended: Promise<Ended>
  readonly #child: ChildProcess
  readonly #exited: Promise<void>
  readonly #signal: NodeJS.Signals
  #stopping: Promise<boolean> | undefined
  #kill = () => {}

  constructor({ file, args, cwd, env, shell, uid, gid, signal = 'SIGTERM' }: Start, reader: LineReader) {
    this.#signal = signal
    const child = spawn(file, args, {
      cwd,
      env,
      shell: shell ?? false,
      ...(uid !== undefined && { uid }),
      ...(gid !== undefined && { gid }),
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe']
    })
    this.#child = child
    let failure: Error | undefined
    this.#exited = new Promise((resolve) => {
      child.once('exit', () => resolve())
      child.once('error', (error) => {
        failure = error
        if (child.pid === undefined) resolve()
      })
    })
    const read = [child.stdout, child.stderr].map((stream) =>
      readLines(stream, reader, stream === child.stderr)
    )
    this.ended = this.#exited.then(async () => {
      // Processes that the program has left behind keep its output open, so they are ended first.
      if (this.#stopping === undefined) await this.#sweep(0)
      await this.#readToEnd(Promise.all(read), reader)
      const { exitCode: code, signalCode } = child
      return { code, signal: signalCode, ...(failure !== undefined && { error: failure }) }
    })
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  /**
   * Ends the program: asks the first process to end, then the rest of the group, and finally kills what is left.
   * @param grace milliseconds until processes are killed
   * @returns whether a process had to be killed
   */
  stop(grace: number): Promise<boolean> {
    this.#stopping ??= this.#stop(grace)
    return this.#stopping
  }

  /** Kills all processes of the group at once. */
  kill(): void {
    this.#kill()
    this.#send('SIGKILL')
  }

  async #stop(grace: number): Promise<boolean> {
    const begun = performance.now()
    // The signal is sent only to the first process, which passes it on to processes that it has started. A second
    // signal would make these end before their work is done.
    const isRunning = this.#child.exitCode === null && this.#child.signalCode === null
    if (isRunning) this.#child.kill(this.#signal)
    let timer: ReturnType<typeof setTimeout> | undefined
    const late = new Promise<true>((resolve) => {
      timer = setTimeout(() => resolve(true), grace)
      this.#kill = () => resolve(true)
    })
    const isLate = await Promise.race([this.#exited.then(() => false), late])
    clearTimeout(timer)
    const wasSwept = await this.#sweep(isLate ? 0 : grace - (performance.now() - begun))
    await this.ended
    return isLate || wasSwept
  }

  /** Ends the rest of the group. @returns whether a process had to be killed */
  async #sweep(grace: number): Promise<boolean> {
    if (!this.#isThere()) return false
    let isKilled = false
    this.#kill = () => {
      isKilled = true
    }
    if (grace > 0) {
      this.#send('SIGTERM')
      const end = performance.now() + grace
      while (performance.now() < end && !isKilled && this.#isThere()) await pause(LOOK)
      if (!this.#isThere()) return false
    }
    this.#send('SIGKILL')
    const end = performance.now() + KILLED
    while (performance.now() < end && this.#isThere()) await pause(LOOK)
    return true
  }

  /**
   * Reads the remaining output. There is a time limit, because a process that has left the group may keep the
   * output open forever.
   */
  async #readToEnd(read: Promise<unknown>, reader: LineReader): Promise<void> {
    let isRead = false
    const end = read.then(() => {
      isRead = true
    })
    do {
      let timer: ReturnType<typeof setTimeout> | undefined
      const held = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, HELD)
      })
      await Promise.race([end, held])
      // Without this, the timer would keep this process alive.
      clearTimeout(timer)
    } while (!isRead && reader.isFull)
    this.#child.stdout?.destroy()
    this.#child.stderr?.destroy()
  }

  #send(signal: NodeJS.Signals): void {
    const { pid } = this.#child
    if (pid === undefined) return
    try {
      process.kill(-pid, signal)
    } catch {
      // No process of the group is left.
    }
  }

  #isThere(): boolean {
    const { pid } = this.#child
    if (pid === undefined) return false
    try {
      process.kill(-pid, 0)
    } catch (error) {
      return (error as NodeJS.ErrnoException).code === 'EPERM'
    }
    return hasLiving(pid)
  }
}

/** Reads the lines of a stream to its end, as fast as the reader accepts them. */
function readLines(
  stream: NodeJS.ReadableStream | null,
  reader: LineReader,
  isError: boolean
): Promise<void> {
  if (stream === null) return Promise.resolve()
  let lines: string[] = []
  const splitter = new LineSplitter((line) => lines.push(line))
  const pass = () => {
    const passed = lines
    lines = []
    if (passed.length > 0) reader.lines(passed, isError)
  }
  return new Promise((resolve) => {
    stream.on('data', (chunk: Uint8Array) => {
      splitter.add(chunk)
      pass()
      if (!reader.isFull) return
      stream.pause()
      reader.onRoom(() => stream.resume())
    })
    const end = () => {
      splitter.end()
      pass()
      resolve()
    }
    stream.once('end', end)
    stream.once('error', end)
    stream.once('close', end)
  })
}

/**
 * Whether a group has processes that still run. Ended processes stay in the group until their parent has read their
 * exit status, which the first process of a container may never do. Only Linux shows which processes have ended.
 */
function hasLiving(group: number): boolean {
  if (process.platform !== 'linux') return true
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8')
      // The name of the program may contain any characters. After it there are state, parent and group.
      const [state, , ofGroup] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
      if (Number(ofGroup) === group && state !== 'Z' && state !== 'X') return true
    } catch {
      // The process has ended in the meantime.
    }
  }
  return false
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds))
}

/**
 * A program with all that it starts: its process leads a group of its own. So Ctrl-C of the terminal reaches the command
 * alone, which ends each group in its turn, and what a program leaves behind is found.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { LineSplitter } from './lines.ts'

/** A program with its arguments and its surroundings. */
export interface Start {
  readonly file: string
  readonly args: readonly string[]
  readonly cwd: string
  readonly env: NodeJS.ProcessEnv
  /** Whether `file` is a command line for the shell. */
  readonly shell?: boolean | undefined
  /** As whom it runs; missing: as this process. */
  readonly uid?: number | undefined
  readonly gid?: number | undefined
  /** The signal that asks it to end. Default: SIGTERM. */
  readonly signal?: NodeJS.Signals | undefined
}

/** Takes lines of a program. */
export interface LineReader {
  line(text: string): void
  /** Whether no more are wanted at the moment. */
  readonly isFull: boolean
  onRoom(listener: () => void): void
}

/** The end of its first process. */
export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  /** It could not be started at all. */
  readonly error?: Error
}

/** Milliseconds between two looks at a group that is ending. */
const LOOK = 20
/** Milliseconds that killed processes get to disappear: nobody can do more for them. */
const KILLED = 2_000

/** Milliseconds for the last lines of a program that has ended. */
const HELD = 2_000

/** A program that runs. */
export class ProcessGroup {
  /** Resolves when its first process has ended and all of its lines are read. Never rejects. */
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
    const read = [child.stdout, child.stderr].map((stream) => readLines(stream, reader))
    this.ended = this.#exited.then(async () => {
      // Processes that it has left behind hold its output open.
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
   * Ends it: asks its first process, then what is left of the group, then kills.
   * @param grace milliseconds until it is killed
   * @returns whether something had to be killed
   */
  stop(grace: number): Promise<boolean> {
    this.#stopping ??= this.#stop(grace)
    return this.#stopping
  }

  /** Kills all of it at once. */
  kill(): void {
    this.#kill()
    this.#send('SIGKILL')
  }

  async #stop(grace: number): Promise<boolean> {
    const begun = performance.now()
    // The first process alone: it tells those that it has started, and a second signal would cut short what they end.
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

  /** Ends what is left of the group. @returns whether it had to be killed */
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

  /** Reads what it has written; something that has left the group may hold its output open for ever. */
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
      // It would keep the whole process from ending.
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
      // Nobody is left.
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

/** Reads the lines of a stream to its end, as fast as they are taken. */
function readLines(stream: NodeJS.ReadableStream | null, reader: LineReader): Promise<void> {
  if (stream === null) return Promise.resolve()
  const splitter = new LineSplitter((line) => reader.line(line))
  return new Promise((resolve) => {
    stream.on('data', (chunk: Uint8Array) => {
      splitter.add(chunk)
      if (!reader.isFull) return
      stream.pause()
      reader.onRoom(() => stream.resume())
    })
    const end = () => {
      splitter.end()
      resolve()
    }
    stream.once('end', end)
    stream.once('error', end)
    stream.once('close', end)
  })
}

/**
 * Whether a group has processes that still run. Those that have ended stay until their parent has asked for it, and the
 * first process of a container may never ask. Only Linux says which they are.
 */
function hasLiving(group: number): boolean {
  if (process.platform !== 'linux') return true
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8')
      // Behind the name of the program, which may have any characters: state, parent, group.
      const [state, , ofGroup] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
      if (Number(ofGroup) === group && state !== 'Z' && state !== 'X') return true
    } catch {
      // It has ended meanwhile.
    }
  }
  return false
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds))
}

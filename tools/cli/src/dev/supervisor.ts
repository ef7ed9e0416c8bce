/** Keeps one program running: restarts it after a crash, with growing pauses, and at once after an edit. */
import type { ProgramAction, ProgramView } from '@elysia-microservices/console'
import { Crashes, STEADY } from './crashes.ts'
import type { Guard } from './guarded.ts'
import { type Ended, type LineReader, ProcessGroup, type Start } from './process-group.ts'

/** The reason for a crash. */
export interface Cause {
  /** The reason in one line, with advice. */
  readonly text: string
  /** Whether the program fails in the same way until one of its files is edited. */
  readonly isCode?: boolean
  /** Further lines that are printed for the first of equal crashes. */
  readonly more?: readonly string[]
}

/** A program that is kept running. */
export interface Supervised extends LineReader {
  readonly name: string
  /** Whether an edit of its files starts it again. */
  readonly isWatched: boolean
  /**
   * Makes the command before each start.
   * @throws {Error} the program cannot be started; the message says what to do
   */
  start(): Start | Promise<Start>
  /** Prints a message about the program. @param more lines of the program that belong to it */
  say(text: string, more?: readonly string[]): void
  /** Called before each start. */
  starting?(): void
  /** Called when the program has a process. */
  started?(): void
  /** Called when the program has ended. */
  ended?(how: Ended): void
  /** When the program was ready, in milliseconds of `performance.now()`; `undefined`: it is not, or was not until its end. */
  readySince(): number | undefined
  /** The reason for a crash, if the program's lines contain it. */
  cause(): Cause | undefined
  /** Whether the program has failed although it has ended with code 0. Default: it has not. */
  hasFailed?(): boolean
}

/**
 * The state of a supervised program: it runs, waits for its next start (`crashed`) or for an edit (`broken`, or `ended` by
 * itself), or until somebody starts it on the page (`stopped`).
 */
export type Doing = 'runs' | 'crashed' | 'broken' | 'ended' | 'stopped'

/** Milliseconds for which a program ran, and of these since it was ready. */
interface Times {
  readonly ran: number
  readonly lived: number
}

/** Milliseconds before a restart: after the first crash, and at most. */
const FIRST_PAUSE = 500
const LONGEST_PAUSE = 30_000
/** The reason for a restart that somebody has asked for. */
const ON_PAGE = 'asked for on the page'

/** Runs one program. */
export class Supervisor {
  readonly #program: Supervised
  readonly #grace: number
  readonly #guard: Guard
  #group: ProcessGroup | undefined
  #running: Promise<void> | undefined
  #isStopping = false
  #isKilled = false
  #doing: Doing = 'stopped'
  #since = Date.now()
  #problem: string | undefined
  #starts = 0
  /** The reason for a restart that somebody wants. */
  #wanted: string | undefined
  #isHalted = false
  #wake = () => {}
  #wasKilled = false
  readonly #crashes = new Crashes()
  #steady: ReturnType<typeof setTimeout> | undefined

  /** @param grace milliseconds that the program may take to end */
  constructor(program: Supervised, grace: number, guard: Guard) {
    this.#program = program
    this.#grace = grace
    this.#guard = guard
  }

  /** The id of the first process, while it runs. */
  get pid(): number | undefined {
    return this.#group?.pid
  }

  /** The view for the page. @param isReady whether the program is ready while it runs */
  view(isReady: boolean): Omit<ProgramView, 'name' | 'ports' | 'services'> {
    const { pid } = this
    const doing = this.#doing
    return {
      state: doing === 'runs' ? (isReady ? 'ready' : 'starting') : doing,
      ...(this.#problem !== undefined && { problem: this.#problem }),
      ...(pid !== undefined && { pid }),
      starts: this.#starts,
      since: this.#since
    }
  }

  /** Prints that the program is ready; if it has crashed each time after that, only once it runs steadily. */
  sayReady(text: string): void {
    if (!this.#crashes.followReady) return this.#program.say(text)
    this.#steady = setTimeout(() => {
      this.#crashes.forget()
      this.#program.say(text)
    }, STEADY)
  }

  /** Starts the program. */
  start(): void {
    this.#running ??= this.#run()
  }

  /** Restarts the program; if it waits for a restart, starts it now. @param reason such as `web.ts was edited` */
  again(reason: string): void {
    if (this.#isHalted) return
    this.#wanted = reason
    this.#wake()
    this.#endGroup()
  }

  /** Does what somebody wants on the page. */
  act(action: ProgramAction): void {
    if (action === 'stop') {
      this.#isHalted = true
      this.#wake()
      this.#endGroup()
    } else if (this.#isHalted) {
      this.#isHalted = false
      this.#wake()
    } else this.again(ON_PAGE)
  }

  /** Ends the program. @returns whether a process had to be killed */
  async stop(): Promise<boolean> {
    this.#isStopping = true
    this.#wake()
    await this.#running
    return this.#wasKilled
  }

  /** Kills the program, and does not start it again. */
  kill(): void {
    this.#isStopping = true
    this.#isKilled = true
    this.#wake()
    this.#group?.kill()
  }

  #endGroup(): void {
    void this.#group?.stop(this.#grace).then((killed) => {
      if (killed && !this.#isStopping) this.#program.say(`${this.#program.name} had to be killed`)
    })
  }

  async #run(): Promise<void> {
    let wait = FIRST_PAUSE
    while (!this.#isStopping) {
      this.#wanted = undefined
      const begun = performance.now()
      const ended = await this.#once()
      const now = performance.now()
      const ran = now - begun
      // Counted from when it was ready: one that loads for long and then fails at once has not lived.
      const lived = now - (this.#program.readySince() ?? now)
      const endedItself = !this.#isStopping && !this.#isHalted && this.#wanted === undefined
      if (!endedItself) this.#sayEndOf(ended, ran)
      if (this.#isStopping) return
      if (endedItself) {
        if (lived > STEADY) wait = FIRST_PAUSE
        await this.#pauseAfter(ended, { ran, lived }, wait)
        wait = Math.min(2 * wait, LONGEST_PAUSE)
      }
      if (this.#isHalted && !this.#isStopping) await this.#halted()
      if (this.#isStopping) return
      if (this.#wanted === undefined) continue
      this.#program.say(`${this.#program.name} is restarted: ${this.#wanted}`)
      this.#crashes.forget()
      wait = FIRST_PAUSE
    }
  }

  /** Runs the program once, to its end. */
  async #once(): Promise<Ended> {
    const program = this.#program
    this.#does('runs')
    this.#starts++
    program.starting?.()
    let start: Start
    try {
      start = await program.start()
    } catch (error) {
      return { code: null, signal: null, error: error as Error }
    }
    if (this.#isStopping || this.#isHalted || this.#wanted !== undefined) return { code: 0, signal: null }
    const group = new ProcessGroup(start, program)
    this.#group = group
    if (group.pid !== undefined) {
      this.#guard.add(group.pid)
      program.started?.()
    }
    // If the program is asked to stop while it is being started, it must be stopped after the start.
    const stopping = this.#woken()
    await Promise.race([group.ended, stopping])
    if (this.#isKilled) group.kill()
    if (this.#isStopping) this.#wasKilled = await group.stop(this.#grace)
    const ended = await group.ended
    this.#group = undefined
    clearTimeout(this.#steady)
    if (group.pid !== undefined) this.#guard.remove(group.pid)
    return ended
  }

  #does(doing: Doing, problem?: string): void {
    // Each start counts by itself.
    if (doing !== this.#doing || doing === 'runs') this.#since = Date.now()
    this.#doing = doing
    this.#problem = problem
  }

  /** Resolves when somebody wants something of the program. */
  #woken(): Promise<void> {
    return new Promise<void>((resolve) => {
      this.#wake = resolve
    })
  }

  async #halted(): Promise<void> {
    const { name } = this.#program
    this.#does('stopped')
    this.#program.say(`${name} is stopped until it is started on the page`)
    while (this.#isHalted && !this.#isStopping) await this.#woken()
    if (!this.#isStopping) this.#wanted = ON_PAGE
  }

  /** Prints why a program has crashed that was to end anyway: in the moment of a crash, or because of the signal. */
  #sayEndOf(ended: Ended, ran: number): void {
    const program = this.#program
    // Shells and package managers end with 128 and the number of the signal that has ended their program.
    const isCrash = ended.code !== null && ended.code > 0 && ended.code < 128
    // The reason must be read before the lines of the program are given up.
    const cause = isCrash ? program.cause() : undefined
    program.ended?.(ended)
    if (cause !== undefined) program.say(`${this.#howEnded(ended, ran)}: ${cause.text}`, cause.more)
  }

  async #pauseAfter(ended: Ended, { ran, lived }: Times, wait: number): Promise<void> {
    const program = this.#program
    const { name } = program
    const woken = this.#woken()
    const isOver = ended.code === 0 && program.hasFailed?.() !== true
    const cause = isOver || ended.signal !== null ? undefined : program.cause()
    program.ended?.(ended)
    if (isOver) {
      this.#does('ended')
      program.say(`${name} has ended with code 0; ${this.#startedAgainBy} starts it again`)
      return woken
    }
    if (cause?.isCode === true) {
      this.#does('broken', cause.text)
      program.say(`${name} cannot run: ${cause.text}; ${this.#startedAgainBy} starts it`)
      return woken
    }
    const how = this.#howEnded(ended, ran)
    this.#does('crashed', cause === undefined ? how : `${how}: ${cause.text}`)
    this.#sayCrash(how, cause, lived, `${wait / 1_000} s`)
    let timer: ReturnType<typeof setTimeout> | undefined
    await Promise.race([
      woken,
      new Promise<void>((resolve) => {
        timer = setTimeout(resolve, wait)
      })
    ])
    clearTimeout(timer)
  }

  get #wasReady(): boolean {
    return this.#program.readySince() !== undefined
  }

  get #startedAgainBy(): string {
    return this.#program.isWatched ? 'an edit of one of its files' : 'its button on the page'
  }

  /** Prints a crash; the third of several equal ones is the last that is printed. */
  #sayCrash(how: string, cause: Cause | undefined, lived: number, seconds: string): void {
    const { name } = this.#program
    // The seconds for which the program ran are no difference.
    const what = `${how.replace(/[\d.]+ s/, '')} ${cause?.text}`
    const times = this.#crashes.add({ what, wasReady: this.#wasReady, lived })
    const { isWatched } = this.#program
    const next = `next start in ${seconds}${isWatched ? ', or at an edit' : ''}`
    if (times === 1)
      this.#program.say(`${how}${cause === undefined ? '' : `: ${cause.text}`}; ${next}`, cause?.more)
    else if (times === 2) this.#program.say(`${name} has crashed again for this reason; ${next}`)
    else if (times === 3)
      this.#program.say(
        `${name} crashes for this reason each time; it is started again ${isWatched ? 'at an edit, and ' : ''}with pauses of up to ${LONGEST_PAUSE / 1_000} s, which is only printed if something changes`
      )
  }

  #howEnded({ code, signal, error }: Ended, ran: number): string {
    const { name } = this.#program
    if (error !== undefined) return `${name} cannot be started: ${error.message}`
    const how = signal === null ? `code ${code}` : signal
    const when = `after ${(ran / 1_000).toFixed(1)} s`
    const what = code === 0 ? 'ended' : 'crashed'
    const early = this.#wasReady ? '' : ', before it was ready'
    return `${name} has ${what} with ${how} ${when}${early}`
  }
}

/** Keeps one program running: restarts it after a crash, with growing pauses, and at once after an edit. */
import type { Guard } from './guarded.ts'
import { type Ended, ProcessGroup, type Start } from './process-group.ts'

/** A program that is kept running. */
export interface Supervised {
  readonly name: string
  /**
   * Makes the command before each start.
   * @throws {Error} the program cannot be started; the message says what to do
   */
  start(): Start | Promise<Start>
  /** Receives each line of the program. */
  line(text: string): void
  /** Prints a message about the program. */
  say(text: string): void
  /** Called before each start. */
  starting?(): void
  /** Called when the program has a process. */
  started?(): void
  /** Whether the program is ready. The message about a crash depends on it. */
  isReady(): boolean
  /** The reason for a crash, with advice, if the program's lines contain it. */
  cause(): string | undefined
  /** Whether the program has failed although it has ended with code 0. Default: it has not. */
  hasFailed?(): boolean
  readonly isFull: boolean
  onRoom(listener: () => void): void
}

/** Milliseconds before a restart: after the first crash, and at most. */
const FIRST_PAUSE = 500
const LONGEST_PAUSE = 30_000
/** Milliseconds after which a program counts as running steadily. */
const STEADY = 10_000

/** Runs one program. */
export class Supervisor {
  readonly #program: Supervised
  readonly #grace: number
  readonly #guard: Guard
  #group: ProcessGroup | undefined
  #running: Promise<void> | undefined
  #isStopping = false
  #isKilled = false
  /** The edited file that causes the restart. */
  #edited: string | undefined
  #wake = () => {}
  #wasKilled = false

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

  /** Starts the program. */
  start(): void {
    this.#running ??= this.#run()
  }

  /** Restarts the program; if it waits for a restart, starts it now. */
  edited(file: string): void {
    this.#edited = file
    this.#wake()
    void this.#group?.stop(this.#grace).then((killed) => {
      if (killed && !this.#isStopping) this.#program.say(`${this.#program.name} had to be killed`)
    })
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

  async #run(): Promise<void> {
    let wait = FIRST_PAUSE
    while (!this.#isStopping) {
      this.#edited = undefined
      const begun = performance.now()
      const ended = await this.#once()
      if (this.#isStopping) return
      if (this.#edited !== undefined) {
        this.#sayEdited()
        wait = FIRST_PAUSE
        continue
      }
      const ran = performance.now() - begun
      if (ran > STEADY) wait = FIRST_PAUSE
      await this.#pauseAfter(ended, ran, wait)
      wait = this.#edited === undefined ? Math.min(2 * wait, LONGEST_PAUSE) : FIRST_PAUSE
    }
  }

  /** Runs the program once, to its end. */
  async #once(): Promise<Ended> {
    const program = this.#program
    program.starting?.()
    let start: Start
    try {
      start = await program.start()
    } catch (error) {
      return { code: null, signal: null, error: error as Error }
    }
    if (this.#isStopping || this.#edited !== undefined) return { code: 0, signal: null }
    const group = new ProcessGroup(start, program)
    this.#group = group
    if (group.pid !== undefined) {
      this.#guard.add(group.pid)
      program.started?.()
    }
    // If the program is asked to stop while it is being started, it must be stopped after the start.
    const stopping = new Promise<void>((resolve) => {
      this.#wake = resolve
    })
    await Promise.race([group.ended, stopping])
    if (this.#isKilled) group.kill()
    if (this.#isStopping) this.#wasKilled = await group.stop(this.#grace)
    const ended = await group.ended
    this.#group = undefined
    if (group.pid !== undefined) this.#guard.remove(group.pid)
    return ended
  }

  async #pauseAfter(ended: Ended, ran: number, wait: number): Promise<void> {
    const { name } = this.#program
    const woken = new Promise<void>((resolve) => {
      this.#wake = resolve
    })
    if (ended.code === 0 && this.#program.hasFailed?.() !== true) {
      this.#program.say(`${name} has ended with code 0; an edit of one of its files starts it again`)
      await woken
    } else {
      const cause = ended.signal === null ? this.#program.cause() : undefined
      const seconds = `${wait / 1_000} s`
      this.#program.say(
        `${this.#howEnded(ended, ran)}${cause === undefined ? '' : `: ${cause}`}; next start in ${seconds}, or at an edit`
      )
      let timer: ReturnType<typeof setTimeout> | undefined
      await Promise.race([
        woken,
        new Promise<void>((resolve) => {
          timer = setTimeout(resolve, wait)
        })
      ])
      clearTimeout(timer)
    }
    if (this.#edited !== undefined && !this.#isStopping) this.#sayEdited()
  }

  #sayEdited(): void {
    this.#program.say(`${this.#program.name} is restarted: ${this.#edited} was edited`)
  }

  #howEnded({ code, signal, error }: Ended, ran: number): string {
    const { name } = this.#program
    if (error !== undefined) return `${name} cannot be started: ${error.message}`
    const how = signal === null ? `code ${code}` : signal
    const when = `after ${(ran / 1_000).toFixed(1)} s`
    const what = code === 0 ? 'ended' : 'crashed'
    const early = this.#program.isReady() ? '' : ', before it was ready'
    return `${name} has ${what} with ${how} ${when}${early}`
  }
}

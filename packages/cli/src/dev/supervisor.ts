/** Keeps one program running: started again when it crashes, with growing pauses, and at once when it is edited. */
import type { Guard } from './guarded.ts'
import { type Ended, ProcessGroup, type Start } from './process-group.ts'

/** A program, as it is kept running. */
export interface Supervised {
  readonly name: string
  /**
   * Makes the program and arguments, before each start.
   * @throws {Error} it cannot be started, with what to do in its message
   */
  start(): Start | Promise<Start>
  /** Takes each of its lines. */
  line(text: string): void
  /** Says something about it. */
  say(text: string): void
  /** Is told of each start, before it. */
  starting?(): void
  /** Is told when it has a process. */
  started?(): void
  /** Whether it is ready; a crash before that is said differently. */
  isReady(): boolean
  /** Why it has crashed, and what to do, if its lines tell. */
  cause(): string | undefined
  /** Whether it has failed even if it ends with code 0. Missing: it has not. */
  hasFailed?(): boolean
  readonly isFull: boolean
  onRoom(listener: () => void): void
}

/** Milliseconds before it is started again: after the first crash, and at most. */
const FIRST_PAUSE = 500
const LONGEST_PAUSE = 30_000
/** Milliseconds after which a program counts as one that runs. */
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
  /** The file whose edit restarts it. */
  #edited: string | undefined
  #wake = () => {}
  #wasKilled = false

  /** @param grace milliseconds that it may take to end */
  constructor(program: Supervised, grace: number, guard: Guard) {
    this.#program = program
    this.#grace = grace
    this.#guard = guard
  }

  /** Its first process, while it runs. */
  get pid(): number | undefined {
    return this.#group?.pid
  }

  /** Starts it. */
  start(): void {
    this.#running ??= this.#run()
  }

  /** Restarts it, or starts it now if it waits. */
  edited(file: string): void {
    this.#edited = file
    this.#wake()
    void this.#group?.stop(this.#grace).then((killed) => {
      if (killed && !this.#isStopping) this.#program.say(`${this.#program.name} had to be killed`)
    })
  }

  /** Ends it. @returns whether it had to be killed */
  async stop(): Promise<boolean> {
    this.#isStopping = true
    this.#wake()
    await this.#running
    return this.#wasKilled
  }

  /** Kills it; it is not started again. */
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

  /** Runs it once, to its end. */
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
    // Asked to end while it was started, it would never hear of it.
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
      this.#program.say(`${name} has ended with code 0; it is started again when one of its files is edited`)
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

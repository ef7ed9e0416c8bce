/**
 * A world with its own time. It takes the place of the runtime's timers, clocks and random numbers, so that hours pass
 * in milliseconds and a seed decides the order of all that is due at the same moment. Import this module, and call
 * `World.enter()`, before any module of the product: some of them keep the runtime's functions when they are loaded.
 */
import type { Clock } from '@elysia-microservices/transport/kit'
import { Lane } from './lane.ts'
import { Random } from './random.ts'
import { Timer, Timers } from './timers.ts'

/** The time at which a world begins. */
const BEGINNING = 1_700_000_000_000
/** Most microseconds that a task takes, so that tasks that ask for each other cannot stop the clock. */
const LONGEST_TASK = 300
/** Most tasks of one life: a world that never comes to rest would be looked at for ever. */
const MOST_TURNS = 200_000
/** Most tasks between two passes of the real event loop, where promises can be settled without one. */
const TOGETHER = 64
/** Passes of the real event loop without a task after which nothing more is expected of the runtime. */
const PATIENCE = 3

const real = {
  setImmediate: globalThis.setImmediate,
  Date: globalThis.Date
}

/** Runs promises and ticks that are due, without a pass of the event loop; `undefined`: the runtime cannot. */
const settle: (() => void) | undefined = 'Bun' in globalThis ? await drainOfBun() : undefined

async function drainOfBun(): Promise<() => void> {
  const module = 'bun:jsc'
  const { drainMicrotasks } = (await import(module)) as { drainMicrotasks(): void }
  return drainMicrotasks
}

/** Waits, in the time of the world that the process has entered. */
export const wait = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, milliseconds))

export class World {
  /** Milliseconds since the world began. */
  now = 0
  /** Tasks that were done. */
  turns = 0
  /** Milliseconds by which the wall clock has jumped. */
  hop = 0
  #beginning = BEGINNING
  #together = 1
  lanes = new Set<Lane>()
  readonly timers = new Timers()
  random = new Random(0)
  /** The chance of the product alone: in one turn, the order of its draws and those of servers depends on the runtime. */
  #chance = new Random(0)
  /** For secrets: the product keeps some of their bytes for later, so that lives take different numbers of them. */
  #secrets = new Random(0)
  /** A task has thrown. */
  uncaught: (error: unknown) => void = () => {}
  #immediates = new Lane(this)
  /** The lines that are due in the present turn; no line: a timer. */
  readonly #due: (Lane | undefined)[] = []
  readonly #numbers = new Map<number, Timer>()
  #numbered = 0

  /** Takes the place of the runtime's time and chance, for the rest of the process. */
  static enter(): World {
    const world = new World()
    world.#replace()
    return world
  }

  /** Begins a new life: time, order and chance depend on the seed alone. @param at its time, in milliseconds since 1970 */
  begin(seed: number, at = BEGINNING): void {
    this.#beginning = at
    // A promise that fails before anybody waits for it is told only with a pass.
    this.#together = seed % 4 === 0 ? 1 : TOGETHER
    this.random = new Random(seed)
    this.#chance = new Random(seed ^ 0x5bd1e995)
    this.#secrets = new Random(~seed)
    this.now = 0
    this.turns = 0
    this.hop = 0
    this.timers.clear()
    this.lanes = new Set()
    this.#numbers.clear()
    this.#immediates = new Lane(this)
  }

  /** Whether the life has had more tasks than any needs. */
  get isExhausted(): boolean {
    return this.turns > MOST_TURNS
  }

  /** Whether tasks wait, apart from timers. */
  get isBusy(): boolean {
    return this.lanes.size > 0
  }

  /**
   * Lets time pass.
   * @param until ends it, if it is true
   * @param limit the longest time, in milliseconds
   * @returns whether `until` was true
   */
  pass(until: () => boolean, limit: number): Promise<boolean> {
    const end = this.now + limit
    let idle = 0
    return new Promise((resolve, reject) => {
      const turns = () => {
        try {
          for (let turn = 0; turn < this.#together; turn++) {
            if (until()) return resolve(true)
            if (this.isExhausted) return resolve(false)
            if (!this.#step(end)) {
              if (++idle <= PATIENCE) break
              // Nothing is due before the end.
              this.now = Math.max(this.now, end)
              return resolve(until())
            }
            idle = 0
            if (settle === undefined) break
            settle()
            // A module that is being loaded needs passes, and no time may be left out meanwhile.
            if (!this.#isDue) break
          }
        } catch (error) {
          return reject(error)
        }
        // Promises and ticks that are due run before the next turn.
        real.setImmediate(turns)
      }
      real.setImmediate(turns)
    })
  }

  /**
   * Calls a function after a time, as a part of the world and not of the product: it is no timer that may be left.
   * @returns a function that cancels the call
   */
  after(delay: number, task: () => void): () => void {
    const lane = new Lane(this)
    lane.add(() => {
      lane.close()
      task()
    }, delay)
    return () => lane.close()
  }

  /** The clock of servers inside the world, which does not jump. */
  readonly clock: Clock = {
    now: () => this.#beginning + Math.floor(this.now),
    after: (milliseconds, wake) => this.after(milliseconds, wake)
  }

  /** Does something by a clock that does not jump. */
  steadily<Done>(act: () => Done): Done {
    const { hop } = this
    this.hop = 0
    try {
      return act()
    } finally {
      this.hop = hop
    }
  }

  numberOf(timer: Timer): number {
    this.#numbers.set(++this.#numbered, timer)
    return this.#numbered
  }

  /** Whether a task is due now. */
  get #isDue(): boolean {
    if (this.timers.due <= this.now) return true
    for (const lane of this.lanes) if (lane.due <= this.now) return true
    return false
  }

  /** Does a task that is due, or lets time pass until one is. @returns whether there was one before the end */
  #step(end: number): boolean {
    const due = this.#due
    due.length = 0
    let next = this.timers.due
    if (next <= this.now) due.push(undefined)
    for (const lane of this.lanes) {
      const at = lane.due
      if (at <= this.now) due.push(lane)
      else if (at < next) next = at
    }
    if (due.length === 0) {
      if (next > end) return false
      this.now = next
      return this.#step(end)
    }
    const lane = due.length === 1 ? due[0] : this.random.of(due)
    this.turns++
    this.now += this.random.between(5, LONGEST_TASK) / 1_000
    try {
      if (lane !== undefined) lane.run()
      else this.#ring()
    } catch (error) {
      this.uncaught(error)
    }
    return true
  }

  #ring(): void {
    const timer = this.timers.take()
    if (timer.repeats) timer.refresh()
    timer.task()
  }

  #replace(): void {
    const world = this
    const timer =
      (repeats: boolean) =>
      (task: (...args: unknown[]) => void, delay = 0, ...args: unknown[]) =>
        new Timer(world, () => task(...args), Number(delay), repeats)
    const clear = (one: unknown) => {
      const found = one instanceof Timer ? one : this.#numbers.get(Number(one))
      if (found !== undefined) this.timers.delete(found)
    }
    const immediate = (task: (...args: unknown[]) => void, ...args: unknown[]) => {
      const one = { isCleared: false, ref: () => one, unref: () => one, hasRef: () => true }
      this.#immediates.add(() => {
        if (!one.isCleared) task(...args)
      })
      return one
    }
    class WorldDate extends real.Date {
      constructor(...args: unknown[]) {
        // @ts-expect-error: the arguments are those of `Date`
        super(...(args.length === 0 ? [WorldDate.now()] : args))
      }

      static override now(): number {
        return world.#beginning + world.hop + Math.floor(world.now)
      }
    }
    const replaced = {
      setTimeout: timer(false),
      setInterval: timer(true),
      clearTimeout: clear,
      clearInterval: clear,
      setImmediate: immediate,
      clearImmediate: (one: { isCleared?: boolean } | undefined) => {
        if (one !== undefined) one.isCleared = true
      },
      Date: WorldDate
    }
    for (const [name, value] of Object.entries(replaced))
      Object.defineProperty(globalThis, name, { value, configurable: true, writable: true })
    performance.now = () => world.now
    Math.random = () => world.#chance.next()
    crypto.getRandomValues = (array) => {
      if (array !== null)
        world.#secrets.fill(new Uint8Array(array.buffer as ArrayBuffer, array.byteOffset, array.byteLength))
      return array
    }
    crypto.randomUUID = () => {
      const hex = () =>
        Math.floor(world.#secrets.next() * 2 ** 32)
          .toString(16)
          .padStart(8, '0')
      const text = hex() + hex() + hex() + hex()
      return `${text.slice(0, 8)}-${text.slice(8, 12)}-4${text.slice(13, 16)}-a${text.slice(17, 20)}-${text.slice(20)}`
    }
  }
}

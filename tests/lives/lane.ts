/** Tasks that happen one after the other, in the time of a world. */

type Task = () => void

/** The world, as far as a line knows it. */
interface Time {
  /** Milliseconds since the world began. */
  readonly now: number
  /** The lines in which a task waits. */
  readonly lanes: Set<Lane>
}

/** A line of tasks that happen one after the other: what one socket receives, or all immediates. */
export class Lane {
  readonly #world: Time
  /** The lines of its own life in which a task waits. */
  readonly #busy: Set<Lane>
  readonly #tasks: { readonly due: number; readonly task: Task }[] = []
  #head = 0

  constructor(world: Time) {
    this.#world = world
    this.#busy = world.lanes
  }

  /** When its next task is due; `Infinity`: there is none. */
  get due(): number {
    return this.#tasks[this.#head]?.due ?? Infinity
  }

  /** Adds a task, to be done after all earlier ones. */
  add(task: Task, delay = 0): void {
    const tasks = this.#tasks
    const due = Math.max(this.#world.now + delay, tasks[tasks.length - 1]?.due ?? 0)
    if (this.#head === tasks.length) this.#busy.add(this)
    tasks.push({ due, task })
  }

  run(): void {
    const { task } = this.#tasks[this.#head++] as { task: Task }
    if (this.#head === this.#tasks.length) {
      this.close()
    } else if (this.#head > 64 && this.#head * 2 > this.#tasks.length) {
      this.#tasks.splice(0, this.#head)
      this.#head = 0
    }
    task()
  }

  /** Forgets the tasks that wait. */
  close(): void {
    this.#tasks.length = 0
    this.#head = 0
    this.#busy.delete(this)
  }
}

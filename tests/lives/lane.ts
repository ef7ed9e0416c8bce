/** Tasks that happen one after the other, in the time of a world. */

type Task = () => void

/** The world, as far as a line knows it. */
interface Time {
  /** Milliseconds since the world began. */
  readonly now: number
  readonly lanes: Set<Lane>
}

/** A line of tasks that happen one after the other: what one socket receives, or all immediates. */
export class Lane {
  readonly #world: Time
  readonly #tasks: { readonly due: number; readonly task: Task }[] = []
  #head = 0

  constructor(world: Time) {
    this.#world = world
    world.lanes.add(this)
  }

  get isEmpty(): boolean {
    return this.#head === this.#tasks.length
  }

  /** When its next task is due; `Infinity`: there is none. */
  get due(): number {
    return this.#tasks[this.#head]?.due ?? Infinity
  }

  /** Adds a task, to be done after all earlier ones. */
  add(task: Task, delay = 0): void {
    const due = Math.max(this.#world.now + delay, this.#tasks.at(-1)?.due ?? 0)
    this.#tasks.push({ due, task })
  }

  run(): void {
    const { task } = this.#tasks[this.#head++] as { task: Task }
    if (this.#head > 64 && this.#head * 2 > this.#tasks.length) {
      this.#tasks.splice(0, this.#head)
      this.#head = 0
    }
    task()
  }

  close(): void {
    this.#tasks.length = 0
    this.#head = 0
    this.#world.lanes.delete(this)
  }
}

import type { Timer, TimerOwner } from '../calls/timer.ts'

/** A timer whose time is moved by hand. */
export class ManualTimer implements Timer {
  owner: TimerOwner = { wake() {} }
  /** When it wakes its owner; `Infinity`: never; `-Infinity`: it is stopped. */
  at = Number.POSITIVE_INFINITY
  #now = 0

  now(): number {
    return this.#now
  }

  wakeAt(time: number): void {
    this.at = Math.min(this.at, time)
  }

  stop(): void {
    this.at = Number.NEGATIVE_INFINITY
  }

  /** Lets time pass. */
  advance(milliseconds: number): void {
    const end = this.#now + milliseconds
    while (this.at <= end && this.at !== Number.NEGATIVE_INFINITY) {
      this.#now = Math.max(this.#now, this.at)
      this.at = Number.POSITIVE_INFINITY
      this.owner.wake(this.#now)
    }
    this.#now = end
  }
}

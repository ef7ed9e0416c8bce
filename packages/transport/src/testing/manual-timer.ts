import type { Timer, TimerOwner } from '../calls/timer.ts'

/** A timer for tests whose time the test moves. */
export class ManualTimer implements Timer {
  owner: TimerOwner = { wake() {} }
  /** The time at which the timer wakes its owner; `Infinity`: never; `-Infinity`: the timer is stopped. */
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

  /** Moves the time, and wakes the owner at each time that it has asked for. */
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

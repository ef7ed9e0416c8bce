/** The object that a timer wakes. */
export interface TimerOwner {
  /**
   * A time that was passed to `wakeAt` has come. The timer forgets all later times: the owner must pass them to
   * `wakeAt` again.
   */
  wake(now: number): void
}

/** The clock and the one timer of a connection. */
export interface Timer {
  /** The object to wake. When a connection gets a new owner, that owner takes over the timer. */
  owner: TimerOwner
  /** Milliseconds of a clock that never goes back. */
  now(): number
  /** Asks the timer to wake its owner at that time, unless an earlier time is already set. */
  wakeAt(time: number): void
  /** Stops the timer for good. */
  stop(): void
}

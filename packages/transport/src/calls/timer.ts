/** The object that a timer wakes. */
export interface TimerOwner {
  /** The time that was asked for has come; all later ones must be asked for again. */
  wake(now: number): void
}

/** The clock and the one timer of a connection. */
export interface Timer {
  /** Is woken. A new owner of the connection takes its timer over. */
  owner: TimerOwner
  /** Milliseconds of a clock that never goes back. */
  now(): number
  /** Asks to be woken at that time, unless an earlier time is already set. */
  wakeAt(time: number): void
  /** Stops the timer for good. */
  stop(): void
}

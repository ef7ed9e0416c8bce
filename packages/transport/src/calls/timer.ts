/** The clock and the one timer of a connection. */
export interface Timer {
  /** Is called at the time that was asked for; it must ask again for all later ones. */
  wake: (now: number) => void
  /** Milliseconds of a clock that never goes back. */
  now(): number
  /** Asks to be woken at that time, unless an earlier time is already set. */
  wakeAt(time: number): void
  /** Stops the timer for good. */
  stop(): void
}

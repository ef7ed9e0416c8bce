/** The clock of a connection, and its one timer. */
export interface Timer {
  /** Milliseconds, never going back. */
  now(): number
  /** Asks for a call of `wake` at that time, if none is due earlier. */
  wakeAt(time: number): void
  /** Asks for no call any more. */
  stop(): void
}

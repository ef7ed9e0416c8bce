/** Errors whose message is for the person at the terminal. Commands print the message alone. */

/** Something the bench needs is not there. Commands exit with code 1. */
export class BenchError extends Error {
  override readonly name: string = 'BenchError'
}

/** A command line that cannot be run. Commands exit with code 2. */
export class UsageError extends BenchError {
  override readonly name = 'UsageError'
}

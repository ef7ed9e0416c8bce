/** Errors whose messages are for the user at the terminal: commands print only the message. */

/** Something that the bench needs is missing or has failed. Commands exit with code 1. */
export class BenchError extends Error {
  override readonly name: string = 'BenchError'
}

/** An invalid command line. Commands exit with code 2. */
export class UsageError extends BenchError {
  override readonly name = 'UsageError'
}

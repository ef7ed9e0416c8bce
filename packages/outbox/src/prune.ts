/** Removes old rows in small batches, so that no transaction takes long. */
import { checkNames, OptionError } from '@elysia-microservices/transport/kit'
import type { Connection } from './database/database.ts'

/** Options of `prune()`. */
export interface PruneOptions {
  /** Rows that are older than this number of milliseconds are removed. */
  readonly olderThan: number
}

/** How many rows one statement removes at most. */
const SOME = 5_000

/**
 * Runs a statement until it removes no more rows.
 * @param statement gets the age, the largest number of rows and `values`; returns a row for each row that it has
 * removed
 * @throws {OptionError} an option is invalid
 * @returns how many rows were removed
 */
export async function prune(
  connection: Connection,
  statement: string,
  options: PruneOptions,
  ...values: string[]
): Promise<number> {
  checkNames('options', options, ['olderThan'])
  const { olderThan } = options
  if (typeof olderThan !== 'number' || !(olderThan >= 0 && Number.isFinite(olderThan)))
    throw OptionError.expected('options.olderThan', 'milliseconds, 0 or more', olderThan)
  let removed = 0
  while (true) {
    const rows = await connection.query(statement, [String(olderThan), String(SOME), ...values])
    removed += rows.length
    if (rows.length < SOME) return removed
  }
}

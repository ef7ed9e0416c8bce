/** Removes old rows, some at a time, so that no transaction is long. */
import { checkNames, OptionError } from '@elysia-microservices/transport/kit'
import type { Connection } from './database/database.ts'

/** Options of `prune()`. */
export interface PruneOptions {
  /** Age in milliseconds from which rows are removed. */
  readonly olderThan: number
}

/** Rows removed by one statement. */
const SOME = 5_000

/**
 * @param statement is given the age, the most rows and `values`; returns a row for each one it removed
 * @throws {OptionError} an option is invalid
 * @returns how many were removed
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

/** Statements of the user, in a transaction of the file. */
import { isThenable, OptionError } from '@elysia-microservices/transport/kit'
import type { Database, Row, Value } from '../driver.ts'

/**
 * Runs one statement in the transaction.
 * @throws {OptionError} the statement would end the transaction
 * @throws SQLite's error, as the runtime gives it
 */
export type SqliteQuery = (sql: string, ...values: readonly Value[]) => readonly Row[]

/** A function that runs in a transaction. It is synchronous: the file has one connection, for which all would wait. */
export type InTransaction<Result> = (query: SqliteQuery) => Result

/**
 * Runs it in the transaction that is open.
 * @throws {OptionError} it is not synchronous, or a statement would end the transaction
 */
export function runWith<Result>(database: Database, run: InTransaction<Result>): Result {
  let isOver = false
  try {
    const result = run((sql, ...values) => {
      if (isOver) throw new OptionError('run', 'The transaction is over: the function must be synchronous')
      if (/^\s*(?:begin|commit|end|rollback|savepoint|release|attach|detach|pragma|vacuum)\b/i.test(sql))
        throw new OptionError(
          'sql',
          `The statement '${sql.trim().slice(0, 40)}' does not belong in a transaction of the store`
        )
      return database.query(sql, ...values)
    })
    if (typeof result === 'object' && result !== null && isThenable(result))
      throw new OptionError(
        'run',
        'The function must be synchronous, because the file has one connection: do everything that waits before it'
      )
    return result
  } finally {
    isOver = true
  }
}

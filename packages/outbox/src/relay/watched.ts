/**
 * A transaction that is given up when the database does not answer any more, for example because of a network
 * failure that the driver does not notice.
 */
import { TimeoutError } from '@elysia-microservices/transport/kit'
import type { Connection, Database } from '../database/database.ts'

/** The connection of a watched transaction. */
export interface Watched extends Connection {
  /** Whether the transaction can still be committed, as far as this process knows. */
  readonly isOpen: boolean
}

/**
 * Runs a function in a transaction. Only the time in which the database is waited for counts. Settles after the
 * function has ended, so that no part of the function runs on afterwards.
 * @param patience milliseconds that a statement, or getting a connection, may take
 */
export async function watchedTransaction<Result>(
  database: Database,
  patience: number,
  run: (connection: Watched) => Promise<Result>
): Promise<Result> {
  let isOpen = true
  let running: Promise<unknown> | undefined
  let timer: ReturnType<typeof setTimeout> | undefined
  let giveUp: (error: Error) => void = () => {}
  const silence = new Promise<never>((_, reject) => {
    giveUp = reject
  })
  const wait = () => {
    clearTimeout(timer)
    timer = setTimeout(
      () =>
        giveUp(
          new TimeoutError('PostgreSQL', patience, true, `PostgreSQL has not answered for ${patience} ms`)
        ),
      patience
    )
  }
  const answered = () => clearTimeout(timer)
  wait()
  try {
    const transaction = database.transaction((connection) => {
      answered()
      const watched: Watched = {
        get isOpen() {
          return isOpen
        },
        async query(text, values) {
          wait()
          const rows = await Promise.race([connection.query(text, values), silence])
          answered()
          return rows
        }
      }
      const ended = run(watched)
      running = ended
      return ended.finally(wait)
    })
    return await Promise.race([transaction, silence])
  } finally {
    isOpen = false
    answered()
    await running?.catch(() => {})
    answered()
  }
}

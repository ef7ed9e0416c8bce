/** A transaction that is given up when the database no longer answers, as after a lost network, which no driver notices. */
import { TimeoutError } from '@elysia-microservices/transport/kit'
import type { Connection, Database } from '../database/database.ts'

/** The connection of a watched transaction. */
export interface Watched extends Connection {
  /** Whether the transaction can still be committed, as far as is known. */
  readonly isOpen: boolean
}

/**
 * Runs a function in a transaction. Time counts only while the database is waited for. Settles when the function has
 * ended too, so that nothing of it goes on afterwards.
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
    timer = setTimeout(() => {
      isOpen = false
      giveUp(new TimeoutError('PostgreSQL', patience, true, `PostgreSQL has not answered for ${patience} ms`))
    }, patience)
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

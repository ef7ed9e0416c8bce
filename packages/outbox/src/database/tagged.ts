/** The drivers whose `sql` is a tagged template: postgres.js, and Bun's own. */
import { ConnectionError } from '@elysia-microservices/transport/kit'
import { type Connection, type Database, ISOLATION, type Row } from './database.ts'

/** A transaction or a reserved connection of postgres.js or of Bun. */
export interface TaggedConnection {
  unsafe(query: string, values?: unknown[]): PromiseLike<unknown>
}

/** The `sql` of postgres.js or of Bun, with its connections. */
export interface TaggedSql extends TaggedConnection {
  /**
   * One of several overloads takes `(options, run)`. The type accepts any arguments, because an interface cannot
   * describe these overloads.
   */
  begin(...given: never[]): PromiseLike<unknown>
  listen(
    channel: string,
    onNotify: (payload: string) => void,
    onListen: () => void
  ): PromiseLike<{ unlisten(): PromiseLike<unknown> }>
}

/** Whether a value is the `sql` of postgres.js or of Bun, in a transaction or not. */
export function isTagged(sql: unknown): sql is TaggedConnection {
  return typeof sql === 'function' && typeof Reflect.get(sql, 'unsafe') === 'function'
}

/**
 * Whether `sql` has a pool of connections, and so is not a transaction: each statement would be a transaction of
 * its own.
 */
export function isTaggedSql(sql: TaggedConnection): sql is TaggedSql {
  return (
    typeof Reflect.get(sql, 'begin') === 'function' &&
    Reflect.get(sql, 'savepoint') === undefined &&
    Reflect.get(sql, 'release') === undefined
  )
}

export function taggedConnection(sql: TaggedConnection): Connection {
  return {
    async query(text, values) {
      const rows = values === undefined ? sql.unsafe(text) : sql.unsafe(text, [...values])
      return withOwnNames((await rows) as Row[])
    }
  }
}

/**
 * Rows with the names that the statement gives their columns: postgres.js writes them in another way if its users want
 * that (`transform: postgres.camel`). Ours are in lower case, with underscores.
 */
export function withOwnNames(rows: readonly Row[]): readonly Row[] {
  const names = Object.keys(rows[0] ?? {})
  if (!names.some((name) => /[-A-Z]/.test(name))) return rows
  const own = (name: string) =>
    name
      .replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
      .replaceAll('-', '_')
      .replace(/^_/, '')
  return rows.map((row) => Object.fromEntries(Object.entries(row).map(([name, value]) => [own(name), value])))
}

export function taggedDatabase(sql: TaggedSql): Database<TaggedConnection> {
  return {
    ...taggedConnection(sql),
    async transaction(run) {
      // The result is kept here and not returned through the driver: both drivers await arrays of promises that a
      // transaction returns.
      let result: Awaited<ReturnType<typeof run>> | undefined
      let isOver = false
      const begin = sql.begin as (...given: unknown[]) => PromiseLike<unknown>
      try {
        await begin.call(sql, ISOLATION, async (transaction: TaggedConnection) => {
          const connection = taggedConnection(transaction)
          const query: Connection['query'] = async (text, values) => {
            // On a lost connection postgres.js would end the process, see below.
            if (isOver) throw new ConnectionError('The connection of the transaction was lost', false)
            return connection.query(text, values)
          }
          try {
            result = await run({ query }, transaction)
          } catch (error) {
            // On a lost connection a rollback by postgres.js would end the process (porsager/postgres#1208). So the
            // driver's transaction is left open, which costs nothing: PostgreSQL ends the transaction when it
            // notices the lost connection.
            if (isLoss(error)) for (let turn = 0; turn < 100 && !isOver; turn++) await pause()
            if (isOver) return new Promise(() => {})
            throw error
          }
        })
      } finally {
        isOver = true
      }
      return result as Awaited<ReturnType<typeof run>>
    },
    async listen(channel, wake) {
      const subscription = await sql.listen(channel, () => wake(), wake)
      return async () => {
        await subscription.unlisten()
      }
    }
  }
}

/** Whether a statement has failed because its connection was lost, or because the server is shutting down (57P0…). */
function isLoss(error: unknown): boolean {
  const { code } = Object(error) as { code?: unknown }
  return typeof code === 'string' && /^(CONNECTION_|ECONN|EPIPE|57P0)/.test(code)
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 10))
}

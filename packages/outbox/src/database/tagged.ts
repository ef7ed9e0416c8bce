/** The drivers whose `sql` is a tagged template: postgres.js, and Bun's own. */
import { type Connection, type Database, ISOLATION, type Row } from './database.ts'

/** A transaction or a reserved connection of postgres.js or of Bun. */
export interface TaggedConnection {
  unsafe(query: string, values?: unknown[]): PromiseLike<unknown>
}

/** The `sql` of postgres.js or of Bun, with its connections. */
export interface TaggedSql extends TaggedConnection {
  /** Takes `(options, run)`, among others: overloads are no interface. */
  begin(...given: never[]): PromiseLike<unknown>
  listen(
    channel: string,
    onNotify: (payload: string) => void
  ): PromiseLike<{ unlisten(): PromiseLike<unknown> }>
}

/** Whether it is one, in a transaction or not. */
export function isTagged(sql: unknown): sql is TaggedConnection {
  return typeof sql === 'function' && typeof Reflect.get(sql, 'unsafe') === 'function'
}

/** Whether it has connections to choose from, and so is no transaction: a statement on it would be one of its own. */
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
      return (await (values === undefined ? sql.unsafe(text) : sql.unsafe(text, [...values]))) as Row[]
    }
  }
}

export function taggedDatabase(sql: TaggedSql): Database<TaggedConnection> {
  return {
    ...taggedConnection(sql),
    async transaction(run) {
      // A driver that unwraps what a transaction returns (both resolve arrays of promises) does not see it here.
      let result: Awaited<ReturnType<typeof run>> | undefined
      const begin = sql.begin as (...given: unknown[]) => PromiseLike<unknown>
      await begin.call(sql, ISOLATION, async (transaction: TaggedConnection) => {
        result = await run(taggedConnection(transaction), transaction)
      })
      return result as Awaited<ReturnType<typeof run>>
    },
    async listen(channel, wake) {
      const subscription = await sql.listen(channel, () => wake())
      return async () => {
        await subscription.unlisten()
      }
    }
  }
}

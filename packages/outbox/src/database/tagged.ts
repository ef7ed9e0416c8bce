/** The drivers whose `sql` is a tagged template: postgres.js, and Bun's own. */
import { ConnectionError } from '@elysia-microservices/transport/kit'
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
      let isOver = false
      const begin = sql.begin as (...given: unknown[]) => PromiseLike<unknown>
      try {
        await begin.call(sql, ISOLATION, async (transaction: TaggedConnection) => {
          const connection = taggedConnection(transaction)
          const query: Connection['query'] = async (text, values) => {
            // postgres.js would end the process: see below.
            if (isOver) throw new ConnectionError('The connection of the transaction was lost', false)
            return connection.query(text, values)
          }
          try {
            result = await run({ query }, transaction)
          } catch (error) {
            // On a lost connection a rollback of postgres.js would end the process (porsager/postgres#1208). It is left
            // open there, which holds nothing: that the connection is lost ends the transaction, at once or soon.
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
      const subscription = await sql.listen(channel, () => wake())
      return async () => {
        await subscription.unlisten()
      }
    }
  }
}

/** Whether a statement failed because its connection was lost, or because the server ends (57P0…). */
function isLoss(error: unknown): boolean {
  const { code } = Object(error) as { code?: unknown }
  return typeof code === 'string' && /^(CONNECTION_|ECONN|EPIPE|57P0)/.test(code)
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 10))
}

/** The driver `pg`. */
import { type Connection, type Database, ISOLATION, type Row } from './database.ts'

/** A client of `pg`. */
export interface PgClient {
  query(text: string, values?: unknown[]): Promise<{ readonly rows: unknown[] }>
}

/** A client that a pool gave. */
interface PooledClient extends PgClient {
  release(error?: Error | boolean): void
  on(event: string, listener: (argument: unknown) => void): unknown
  removeListener(event: string, listener: (argument: unknown) => void): unknown
}

/** A pool of `pg`. */
export interface PgPool extends PgClient {
  readonly totalCount: number
  connect(): Promise<unknown>
}

/** Whether it is a client, from a pool or not, or a pool. */
export function isPg(sql: unknown): sql is PgClient {
  return typeof sql === 'object' && sql !== null && typeof Reflect.get(sql, 'query') === 'function'
}

/** Whether it has clients to choose from, and so is no transaction. */
export function isPgPool(sql: PgClient): sql is PgPool {
  return (
    typeof Reflect.get(sql, 'totalCount') === 'number' && typeof Reflect.get(sql, 'connect') === 'function'
  )
}

/** Whether a client says that no transaction is open; older versions of the driver do not say. */
export function isIdle(client: PgClient): boolean {
  const status: unknown = Reflect.get(client, 'getTransactionStatus')
  return typeof status === 'function' && Reflect.apply(status, client, []) === 'I'
}

export function pgConnection(client: PgClient): Connection {
  return {
    async query(text, values) {
      // Several statements have several results, which nobody here asks for.
      const result = await client.query(text, values === undefined ? undefined : [...values])
      return (Array.isArray(result) ? [] : result.rows) as Row[]
    }
  }
}

function ignore(): void {}

export function pgDatabase(pool: PgPool): Database<PgClient> {
  return {
    ...pgConnection(pool),
    async transaction(run) {
      const client = (await pool.connect()) as PooledClient
      // The pool listens only to clients that are idle; without a listener, a lost connection would end the process.
      client.on('error', ignore)
      const close = (broken: boolean) => {
        client.removeListener('error', ignore)
        client.release(broken)
      }
      try {
        await client.query(`begin ${ISOLATION}`)
        const result = await run(pgConnection(client), client)
        await client.query('commit')
        close(false)
        return result
      } catch (error) {
        const isBack = await client.query('rollback').then(
          () => true,
          () => false
        )
        close(!isBack)
        throw error
      }
    },
    async listen(channel, wake, lost) {
      const client = (await pool.connect()) as PooledClient
      let isOpen = true
      const close = (broken: boolean) => {
        if (!isOpen) return
        isOpen = false
        client.removeListener('notification', wake)
        client.removeListener('end', ended)
        // The listener of errors stays: the client is thrown away, and may fail while it ends.
        client.release(broken)
      }
      const ended = () => {
        close(true)
        lost()
      }
      client.on('error', ended)
      client.on('end', ended)
      client.on('notification', wake)
      try {
        await client.query(`listen "${channel}"`)
      } catch (error) {
        close(true)
        throw error
      }
      return async () => close(true)
    }
  }
}

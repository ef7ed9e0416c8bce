/** The driver `pg`. */
import type { EventEmitter } from 'node:events'
import { type Connection, type Database, ISOLATION, type Row } from './database.ts'
import { SharedListening } from './shared-listening.ts'

/** A client of `pg`. */
export interface PgClient {
  query(text: string, values?: unknown[]): Promise<{ readonly rows: unknown[] }>
}

/** A client that a pool has lent. */
interface PooledClient extends PgClient {
  release(error?: Error | boolean): void
  on(event: string, listener: (argument: unknown) => void): unknown
  removeListener(event: string, listener: (argument: unknown) => void): unknown
}

/** A pool of `pg`. */
export interface PgPool extends PgClient {
  readonly totalCount: number
  /**
   * One of several overloads takes a callback. The type accepts any arguments, because an interface cannot describe
   * these overloads.
   */
  connect(...given: never[]): unknown
}

/** Whether a value is a client of `pg`, from a pool or not, or a pool. */
export function isPg(sql: unknown): sql is PgClient {
  return typeof sql === 'object' && sql !== null && typeof Reflect.get(sql, 'query') === 'function'
}

/** Whether a value is a pool of `pg`, and so not a transaction. */
export function isPgPool(sql: PgClient): sql is PgPool {
  return (
    typeof Reflect.get(sql, 'totalCount') === 'number' && typeof Reflect.get(sql, 'connect') === 'function'
  )
}

/** Whether a client reports that no transaction is open. Older versions of the driver do not report it. */
export function isIdle(client: PgClient): boolean {
  const status: unknown = Reflect.get(client, 'getTransactionStatus')
  return typeof status === 'function' && Reflect.apply(status, client, []) === 'I'
}

export function pgConnection(client: PgClient): Connection {
  return {
    async query(text, values) {
      // Several statements have several results, which no caller here needs.
      const result = await client.query(text, values === undefined ? undefined : [...values])
      return (Array.isArray(result) ? [] : result.rows) as Row[]
    }
  }
}

function ignore(): void {}

/**
 * Gets a client from a pool, and listens for the client's errors. Without a listener the process would end when the
 * connection is lost, because the pool listens only for errors of idle clients. A callback is used, because the
 * error may occur in the same turn in which the client arrives.
 */
function connect(pool: PgPool): Promise<PooledClient> {
  return new Promise((resolve, reject) => {
    const connected = (error: Error | undefined, client: PooledClient) => {
      if (error) return reject(error)
      client.on('error', ignore)
      resolve(client)
    }
    const connect = pool.connect as (callback: typeof connected) => void
    connect.call(pool, connected)
  })
}

/**
 * Returns a client to its pool. A broken client is destroyed, and keeps its listener because it may still fail
 * while it ends.
 */
function release(client: PooledClient, isBroken: boolean): void {
  if (!isBroken) client.removeListener('error', ignore)
  client.release(isBroken)
}

async function isRolledBack(client: PgClient): Promise<boolean> {
  try {
    await client.query('rollback')
    return true
  } catch {
    return false
  }
}

/** Listens on a client of its own. */
async function listen(
  pool: PgPool,
  channel: string,
  wake: () => void,
  lost: () => void
): Promise<() => Promise<void>> {
  const { max } = Object(Reflect.get(pool, 'options')) as { readonly max?: unknown }
  if (max === 1) throw new Error('The pool has one connection (max: 1), which is needed for statements')
  const client = await connect(pool)
  let state: 'begins' | 'listens' | 'closed' = 'begins'
  const close = () => {
    if (state === 'closed') return
    state = 'closed'
    client.removeListener('notification', wake)
    client.removeListener('end', ended)
    client.removeListener('error', ended)
    // The client is destroyed and not returned to the pool, because it still listens.
    release(client, true)
  }
  const ended = () => {
    const wasListening = state === 'listens'
    close()
    // A loss before that is told by the rejection alone: who hears of it twice would listen twice from then on.
    if (wasListening) lost()
  }
  const isClosed = () => state === 'closed'
  client.on('error', ended)
  client.on('end', ended)
  client.on('notification', wake)
  try {
    await client.query(`listen "${channel}"`)
    if (isClosed()) throw new Error('The connection was lost when listening had begun')
    state = 'listens'
    wake()
  } catch (error) {
    close()
    throw error
  }
  return async () => close()
}

const LISTENING = new WeakMap<PgPool, SharedListening>()

function listeningOf(pool: PgPool): SharedListening {
  let listening = LISTENING.get(pool)
  if (listening === undefined) {
    listening = new SharedListening((channel, wake, lost) => listen(pool, channel, wake, lost))
    LISTENING.set(pool, listening)
  }
  return listening
}

/**
 * An idle client whose connection is lost would end the process, if nobody listens for the errors of its pool. A listener
 * of the user hears of it all the same.
 */
function surviveLosses(pool: PgPool): void {
  const { listenerCount, on } = pool as Partial<Pick<EventEmitter, 'listenerCount' | 'on'>>
  if (listenerCount?.call(pool, 'error') === 0) on?.call(pool, 'error', ignore)
}

export function pgDatabase(pool: PgPool): Database<PgClient> {
  surviveLosses(pool)
  return {
    ...pgConnection(pool),
    async transaction(run) {
      const client = await connect(pool)
      let unanswered = 0
      const { query } = pgConnection(client)
      const counted: Connection['query'] = (text, values) => {
        unanswered++
        return query(text, values).finally(() => unanswered--)
      }
      try {
        await client.query(`begin ${ISOLATION}`)
        const result = await run({ query: counted }, client)
        await client.query('commit')
        release(client, false)
        return result
      } catch (error) {
        // A client that waits for an answer takes no further statement from pg 9 on, and the answer may never come.
        release(client, unanswered > 0 || !(await isRolledBack(client)))
        throw error
      }
    },
    listen: listeningOf(pool).listen
  }
}

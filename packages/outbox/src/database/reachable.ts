/** Tells of a PostgreSQL server that cannot be reached in one way, whatever the driver. */
import { ConnectionError } from '@elysia-microservices/transport/kit'
import type { Database } from './database.ts'

/**
 * The codes of drivers for a connection that could not be made, and the reasons in words. The first ones come from the
 * system, `CONNECT_TIMEOUT` from postgres.js, the last ones from Bun.
 */
const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ENOTFOUND: 'there is no host with that name',
  EAI_AGAIN: 'the DNS server does not answer',
  EHOSTUNREACH: 'there is no route to that host',
  ENETUNREACH: 'there is no route to that network',
  ETIMEDOUT: 'the system waited too long for an answer',
  ENOENT: 'there is no such socket file',
  CONNECT_TIMEOUT: 'the server does not answer',
  ERR_POSTGRES_CONNECTION_REFUSED: 'connection refused',
  ERR_POSTGRES_CONNECTION_FAILED: 'the connection failed',
  ERR_POSTGRES_CONNECTION_TIMEOUT: 'the server does not answer'
}

/**
 * The same database, whose errors say where PostgreSQL was expected if no connection could be made. All other errors
 * stay as they are: those of PostgreSQL, and those of the function that runs in a transaction.
 */
export function reachable<Transaction>(database: Database<Transaction>, sql: object): Database<Transaction> {
  const explain = (error: unknown): never => {
    throw unreachable(error, sql)
  }
  return {
    query: (text, values) => database.query(text, values).catch(explain),
    transaction(run) {
      let hasBegun = false
      return database
        .transaction((connection, transaction) => {
          hasBegun = true
          return run(connection, transaction)
        })
        .catch((error: unknown) => {
          if (hasBegun) throw error
          return explain(error)
        })
    },
    listen: (channel, wake, lost) => database.listen(channel, wake, lost).catch(explain)
  }
}

function unreachable(error: unknown, sql: object): unknown {
  const { code } = Object(error) as { readonly code?: unknown }
  const reason = typeof code === 'string' && Object.hasOwn(REASONS, code) ? REASONS[code] : undefined
  if (reason === undefined) return error
  return new ConnectionError(
    `Cannot reach PostgreSQL at ${addressOf(sql)}: ${reason}; start PostgreSQL, or correct the address in the options of sql`,
    false,
    error
  )
}

/** The address of the server without user and password, from the options that the driver has kept. */
function addressOf(sql: object): string {
  const { connectionString, path, host, hostname, port } = Object(Reflect.get(sql, 'options')) as Record<
    string,
    unknown
  >
  if (typeof connectionString === 'string' && URL.canParse(connectionString)) {
    const url = new URL(connectionString)
    return `${url.hostname || 'localhost'}:${url.port || 5432}`
  }
  if (typeof path === 'string') return path
  const hosts = [host ?? hostname ?? process.env['PGHOST'] ?? 'localhost'].flat()
  const ports = [port ?? process.env['PGPORT'] ?? 5432].flat()
  return hosts.map((each, index) => `${each}:${ports[index] ?? ports[0]}`).join(', ')
}

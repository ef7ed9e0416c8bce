/** Storing and acknowledging events, in a transaction of the user or over the pool. */
import { type Connection, inSchema } from '@elysia-microservices/outbox/database'
import { NotStoredError } from '@elysia-microservices/transport/kit'
import type { TakenRow } from './turn.ts'

/** An event to be stored; every text is checked before. */
export interface NewEvent {
  readonly pattern: string
  readonly id: string
  readonly key: string | undefined
  /** The headers as JSON. */
  readonly headers: string | undefined
  /** The packet as JSON. */
  readonly body: string
  /** When it is published, in milliseconds since 1970, by the clock of the database. Default: now. */
  readonly due?: number | undefined
  /** Milliseconds from now until it is published. Default: see `due`. */
  readonly delay?: number | undefined
}

/** The fate of an event that was to be stored. */
export interface Stored {
  /** `undefined`: it waits for its time. */
  readonly position: string | undefined
  readonly isDuplicate: boolean
  /** It is not stored, because an open transaction publishes its key. */
  readonly isHeld: boolean
  /** It is not stored, because the log keeps so many bytes, and may keep no more. */
  readonly full?: number
}

/** How the log is kept. */
export interface Keeping {
  /** Milliseconds within which an id is stored once. */
  readonly duplicateWindow: number
  /** Bytes of events that are kept; 0: no limit. */
  readonly maxBytes: number
}

/**
 * Stores events over a connection, which may be the caller's transaction.
 * @param waits for transactions that publish the same keys, until they end
 * @param lockTimeout milliseconds after which PostgreSQL ends such a wait with an error. Default: that of the session
 */
export async function storeEvents(
  connection: Connection,
  schema: string,
  events: readonly NewEvent[],
  { duplicateWindow, maxBytes }: Keeping,
  waits: boolean,
  lockTimeout?: number
): Promise<Stored[]> {
  const [one] = events
  if (events.length === 1 && maxBytes === 0 && one?.due === undefined && one?.delay === undefined)
    return [await storeOne(connection, schema, one as NewEvent, duplicateWindow, waits, lockTimeout)]
  const rows = await connection.query(
    inSchema(
      `select place, is_duplicate, is_held from "elysia_microservices".store_events(${within(lockTimeout, '$1::text::json')}, $2::text::integer, $3::text::boolean, $4::text::bigint) order by number`,
      schema
    ),
    [JSON.stringify(events), String(duplicateWindow), String(waits), String(maxBytes)]
  )
  return rows.map(({ place, is_duplicate, is_held }) => {
    const [position, kept] = place === null ? [] : String(place).split(' ')
    if (kept !== undefined)
      return { position: undefined, isDuplicate: false, isHeld: false, full: Number(kept) }
    return { position, isDuplicate: is_duplicate === true, isHeld: is_held === true }
  })
}

/** The error for an event that is not stored, because the log is full. */
export function fullError(kept: number, maxBytes: number): NotStoredError {
  return new NotStoredError(
    `The log of events in PostgreSQL keeps ${kept} bytes of events, and may keep ${maxBytes}: raise options.maxBytes, or shorten options.maxAge`,
    true
  )
}

const STORE_ONE =
  '"elysia_microservices".store_event($1::text, $2::text, $3::text, $4::text, $5::text, null, $6::text::integer, true)'
const STORE_ONE_UNLESS_HELD = `case when pg_try_advisory_xact_lock("elysia_microservices".lock_of($3::text)) then ${STORE_ONE} else 'held' end`

/** An expression that is evaluated after the limit for locks was set, which holds for the transaction. */
function within(lockTimeout: number | undefined, expression: string): string {
  if (lockTimeout === undefined) return expression
  return `case when set_config('lock_timeout', '${lockTimeout}', true) is not null then ${expression} end`
}

/** Stores an event at once, as most transactions of users do. */
async function storeOne(
  connection: Connection,
  schema: string,
  { pattern, id, key, headers, body }: NewEvent,
  duplicateWindow: number,
  waits: boolean,
  lockTimeout: number | undefined
): Promise<Stored> {
  const store = waits || key === undefined ? within(lockTimeout, STORE_ONE) : STORE_ONE_UNLESS_HELD
  const [row] = await connection.query(inSchema(`select ${store} as stored`, schema), [
    pattern,
    id,
    key ?? null,
    headers ?? null,
    body,
    String(duplicateWindow)
  ])
  const stored = String(row?.['stored'])
  if (stored === 'held') return { position: undefined, isDuplicate: false, isHeld: true }
  const [position, duplicate] = stored.split('=')
  return { position: position || undefined, isDuplicate: duplicate !== undefined, isHeld: false }
}

/**
 * Acknowledges an event over a connection, which is in a transaction.
 * @returns false: it is acknowledged already, or another process has it; the transaction can only be rolled back
 */
export async function acknowledgeEvent(
  connection: Connection,
  schema: string,
  { batch, position, letter }: Pick<TakenRow, 'batch' | 'position' | 'letter'>
): Promise<boolean> {
  try {
    await connection.query(
      inSchema(
        'select "elysia_microservices".acknowledge($1::text::bigint, $2::text::bigint, $3::text::bigint)::text',
        schema
      ),
      [batch, position, letter]
    )
    return true
  } catch (error) {
    const { code, errno } = Object(error) as Record<string, unknown>
    if (code === 'EM001' || errno === 'EM001') return false
    throw error
  }
}

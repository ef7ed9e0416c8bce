/** Publishes the events of one batch: events of the same key one after the other, all others at the same time. */
import {
  backoffDelay,
  describe,
  type MessageHeaders,
  shown,
  TimeoutError
} from '@elysia-microservices/transport/kit'
import type { Row } from '../database/database.ts'
import type { Publisher } from '../publisher.ts'

/** An event as it was read from the outbox. */
interface Event {
  readonly position: string
  readonly id: string
  readonly pattern: string
  readonly key: string | null
  readonly headers: string | null
  readonly data: string | null
  readonly attempts: string
}

/** An event that could not be published. */
export interface Failure {
  readonly position: string
  readonly id: string
  readonly pattern: string
  /** The reason for the failure, in words. */
  readonly reason: string
  /** Milliseconds until the next attempt; `null` if there will be no further attempt. */
  readonly pause: number | null
  readonly cause: unknown
}

/** The outcome of a batch. Events in neither list were not tried. */
export interface Outcome {
  /** The positions of the events that the broker has stored. */
  readonly published: string[]
  readonly failures: Failure[]
  /** How many of these events the broker had already. */
  duplicates: number
}

/** The longest pause between attempts, in milliseconds. */
export const LONGEST_PAUSE = 10_000
const PAUSES = { minDelay: 100, maxDelay: LONGEST_PAUSE }

/** Codes of errors which mean that the event is invalid, so that another attempt would fail too. */
const HOPELESS: ReadonlySet<unknown> = new Set(['EVENT_REFUSED', 'OPTION', 'PAYLOAD_TOO_LARGE', 'VALIDATION'])

/**
 * Where an `OptionError` says that the event is invalid. Others say that the client is, or does not fit the engine, for
 * example that its stream has other settings.
 */
const OF_EVENT = /^(call|data|pattern|options\.(headers|id|key))\b/

/** Milliseconds that a publisher may exceed its timeout before the relay stops waiting for it. */
const GRACE = 1_000

/**
 * Publishes events until all were tried or `mayGoOn` returns false; never rejects. Only one event of a key is sent
 * at a time: if several were sent and the first one failed, later events of the key would be stored before it.
 */
export async function publishAll(
  rows: readonly Row[],
  client: Publisher,
  timeout: number,
  mayGoOn: () => boolean
): Promise<Outcome> {
  const outcome: Outcome = { published: [], failures: [], duplicates: 0 }
  const chains = new Map<string, Event[]>()
  for (const row of rows as readonly unknown[] as readonly Event[]) {
    const name = row.key === null ? `position ${row.position}` : `key ${row.key}`
    const chain = chains.get(name)
    if (chain === undefined) chains.set(name, [row])
    else chain.push(row)
  }
  await Promise.all(
    [...chains.values()].map((chain) => publishChain(chain, client, timeout, mayGoOn, outcome))
  )
  return outcome
}

async function publishChain(
  chain: readonly Event[],
  client: Publisher,
  timeout: number,
  mayGoOn: () => boolean,
  outcome: Outcome
): Promise<void> {
  for (const event of chain) {
    if (!mayGoOn()) return
    try {
      const stored = await publish(event, client, timeout)
      outcome.published.push(event.position)
      if (Object(stored).duplicate === true) outcome.duplicates++
    } catch (cause) {
      const failure = failureOf(event, cause)
      outcome.failures.push(failure)
      // An event that is put aside does not hold up later events of its key.
      if (failure.pause !== null) return
    }
  }
}

function publish({ id, pattern, key, headers, data }: Event, client: Publisher, timeout: number) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new TimeoutError(pattern, timeout)), timeout + GRACE)
    const settled = () => clearTimeout(timer)
    const options = {
      id,
      timeout,
      ...(key === null ? {} : { key }),
      ...(headers === null ? {} : { headers: JSON.parse(headers) as MessageHeaders })
    }
    try {
      const published = client.publish(pattern, data === null ? undefined : JSON.parse(data), options)
      Promise.resolve(published).finally(settled).then(resolve, reject)
    } catch (error) {
      settled()
      reject(error)
    }
  })
}

function failureOf({ position, id, pattern, attempts }: Event, cause: unknown): Failure {
  const { code, path, reason } = readError(cause)
  const isHopeless = HOPELESS.has(code) && (code !== 'OPTION' || OF_EVENT.test(path))
  const pause = isHopeless ? null : backoffDelay(PAUSES, Number(attempts), Math.random())
  return { position, id, pattern, reason, pause, cause }
}

/**
 * Returns the code, the path and the reason of an error. The error may be any value, even one that throws when it is
 * read. The reason has only characters that PostgreSQL can store.
 */
function readError(cause: unknown): {
  readonly code: unknown
  readonly path: string
  readonly reason: string
} {
  try {
    if (cause instanceof Error)
      return {
        code: Reflect.get(cause, 'code'),
        path: String(Reflect.get(cause, 'path')),
        reason: shown(`${cause.name}: ${cause.message}`)
      }
  } catch {}
  return { code: undefined, path: '', reason: shown(describe(cause)) }
}

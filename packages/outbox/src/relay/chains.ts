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

/** The outcome of a batch. Events in no list were not tried. */
export interface Outcome {
  /** The positions of the events that the broker has stored. */
  readonly published: string[]
  readonly failures: Failure[]
  /** How many of these events the broker had already. */
  duplicates: number
  /** The events that the broker has not answered yet. */
  readonly unanswered: Unanswered[]
}

/** An event that the broker has not answered yet. */
export interface Unanswered {
  readonly position: string
  /** Milliseconds, of the process's clock, at which the attempt has ended, whatever the broker does. */
  readonly until: number
  /** Resolves at the end of the attempt. Never rejects. */
  readonly ended: Promise<Outcome>
}

/** How long a batch is waited for. */
export interface Patience {
  /** Milliseconds in which the broker must store an event. */
  readonly timeout: number
  /** Whether further events may be sent. */
  mayGoOn(): boolean
  /**
   * Resolves when no further events are sent, and few unanswered ones need not be waited for. Never: all events are waited
   * for.
   */
  readonly over: Promise<unknown>
  /** The largest number of events that need not be waited for. */
  readonly few: number
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
export const GRACE = 1_000

/**
 * Publishes events until all were tried or `mayGoOn` returns false; never rejects. Only one event of a key is sent at a
 * time, and if it fails, the later events of that key are not tried. A few events that the broker does not answer are left
 * behind, because others must not wait for them; of their keys no later event is tried.
 */
export async function publishAll(
  rows: readonly Row[],
  client: Publisher,
  patience: Patience
): Promise<Outcome> {
  const chains = new Map<string, Event[]>()
  for (const row of rows as readonly unknown[] as readonly Event[]) {
    const name = row.key === null ? `position ${row.position}` : `key ${row.key}`
    const chain = chains.get(name)
    if (chain === undefined) chains.set(name, [row])
    else chain.push(row)
  }
  const batch = new Batch(client, patience)
  return batch.run([...chains.values()])
}

/** The attempts of one batch. */
class Batch {
  readonly #client: Publisher
  readonly #patience: Patience
  readonly #outcome = emptyOutcome()
  readonly #underWay = new Set<Unanswered>()
  #isOver = false
  #leave: () => void = () => {}

  constructor(client: Publisher, patience: Patience) {
    this.#client = client
    this.#patience = patience
  }

  async run(chains: readonly (readonly Event[])[]): Promise<Outcome> {
    const left = new Promise<void>((resolve) => {
      this.#leave = resolve
    })
    void this.#patience.over.then(() => {
      this.#isOver = true
      this.#look()
    })
    await Promise.race([Promise.all(chains.map((chain) => this.#publishChain(chain))), left])
    this.#outcome.unanswered.push(...this.#underWay)
    return this.#outcome
  }

  async #publishChain(chain: readonly Event[]): Promise<void> {
    const { timeout, mayGoOn } = this.#patience
    for (const event of chain) {
      if (!mayGoOn()) return
      const attempt: Unanswered = {
        position: event.position,
        until: performance.now() + timeout + GRACE,
        ended: outcomeOf(event, this.#client, timeout)
      }
      this.#underWay.add(attempt)
      const outcome = await attempt.ended
      // An event that was left behind is the relay's.
      if (this.#outcome.unanswered.includes(attempt)) return
      this.#underWay.delete(attempt)
      addTo(this.#outcome, outcome)
      this.#look()
      // An event that is put aside does not hold up later events of its key.
      if (outcome.failures.some(({ pause }) => pause !== null)) return
    }
  }

  /** Leaves the unanswered events behind, if they are few. */
  #look(): void {
    if (this.#isOver && this.#underWay.size <= this.#patience.few) this.#leave()
  }
}

/** The outcome of no event. */
export function emptyOutcome(): Outcome {
  return { published: [], failures: [], duplicates: 0, unanswered: [] }
}

/** Adds an outcome to another one. */
export function addTo(outcome: Outcome, { published, failures, duplicates }: Outcome): void {
  outcome.published.push(...published)
  outcome.failures.push(...failures)
  outcome.duplicates += duplicates
}

async function outcomeOf(event: Event, client: Publisher, timeout: number): Promise<Outcome> {
  const outcome = emptyOutcome()
  try {
    const stored = await publish(event, client, timeout)
    outcome.published.push(event.position)
    if (Object(stored).duplicate === true) outcome.duplicates++
  } catch (cause) {
    outcome.failures.push(failureOf(event, cause))
  }
  return outcome
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

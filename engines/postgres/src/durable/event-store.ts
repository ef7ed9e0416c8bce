/** Appends events to the log: those of one turn of the event loop together, one transaction after the other. */
import { delayLeft, type Publisher, type Store } from '@elysia-microservices/engine'
import { EventRefusedError, NotStoredError, nextTurn } from '@elysia-microservices/transport/kit'
import { fullError, type Keeping, type NewEvent } from '../connection/in-transaction.ts'
import { answeredState } from '../connection/lost.ts'
import type { PostgresConnection } from '../connection/postgres-connection.ts'
import { Counting } from './counting.ts'
import type { OutgoingRow } from './outgoing.ts'

/** The largest event in bytes. */
const MAX_EVENT = 16 * 1024 * 1024
/** Most events, and most bytes of events, in one transaction. */
const MOST_TOGETHER = 256
const MOST_BYTES = 1024 * 1024

interface Numbered {
  readonly event: OutgoingRow
  readonly number: number
}

export class EventStore implements Store<OutgoingRow> {
  readonly maxPayload = MAX_EVENT
  readonly #connection: PostgresConnection
  readonly #publisher: Publisher<OutgoingRow>
  readonly #keeping: Keeping
  readonly #counting: Counting
  #waiting: Numbered[] = []
  #isSending = false
  /** Events whose keys open transactions publish, and later ones of these keys: nothing else waits for them. */
  #held: Numbered[] = []
  readonly #heldKeys = new Set<string | undefined>()
  #isSendingHeld = false

  constructor(connection: PostgresConnection, publisher: Publisher<OutgoingRow>, keeping: Keeping) {
    this.#connection = connection
    this.#publisher = publisher
    this.#keeping = keeping
    this.#counting = new Counting(connection.tables, keeping)
  }

  get isConnected(): boolean {
    return this.#connection.isConnected
  }

  append(event: OutgoingRow, number: number): void {
    this.#waiting.push({ event, number })
    if (this.#isSending) return
    this.#isSending = true
    nextTurn(() => void this.#send())
  }

  async #send(): Promise<void> {
    while (this.#waiting.length > 0 && this.isConnected) {
      const batch = this.#next(this.#waiting)
      this.#hold(batch.filter((one) => this.#isHeld(one)))
      const free = batch.filter((one) => !this.#isHeld(one))
      this.#hold(await this.#store(free, false))
    }
    // The publisher appends all events again when the server is back.
    this.#waiting = []
    this.#isSending = false
  }

  #isHeld({ event }: Numbered): boolean {
    return this.#heldKeys.has(event.row.key)
  }

  #hold(events: readonly Numbered[]): void {
    if (events.length === 0) return
    this.#held.push(...events)
    for (const { event, number } of events) {
      this.#heldKeys.add(event.row.key)
      this.#publisher.held(number)
    }
    if (!this.#isSendingHeld) void this.#sendHeld()
  }

  async #sendHeld(): Promise<void> {
    this.#isSendingHeld = true
    while (this.#held.length > 0 && this.isConnected) {
      const again = await this.#store(this.#next(this.#held), true)
      // The list may be another one by now.
      this.#held.unshift(...again)
      this.#heldKeys.clear()
      for (const { event } of this.#held) this.#heldKeys.add(event.row.key)
    }
    this.#held = []
    this.#heldKeys.clear()
    this.#isSendingHeld = false
  }

  /** Takes the next ones out of those that wait. */
  #next(waiting: Numbered[]): Numbered[] {
    let size = 0
    let count = 0
    for (const { event } of waiting) {
      size += event.size
      if (count === MOST_TOGETHER || (count > 0 && size > MOST_BYTES)) break
      count++
    }
    return waiting.splice(0, count).filter(({ number }) => this.#publisher.sentEvent(number) !== undefined)
  }

  /** @returns those that are not stored, because others publish their keys */
  async #store(batch: readonly Numbered[], waits: boolean): Promise<Numbered[]> {
    if (batch.length === 0) return []
    const { tables, reach } = this.#connection
    try {
      const rows = batch.map(({ event }) => rowOf(event))
      const { duplicateWindow, maxBytes } = this.#keeping
      const all = await tables.store(rows, duplicateWindow, waits, maxBytes)
      for (const [at, { position, isDuplicate, isHeld, full }] of all.entries()) {
        const { number } = batch[at] as Numbered
        if (full !== undefined) this.#refuse([batch[at] as Numbered], fullError(full, maxBytes))
        else if (!isHeld) this.#publisher.stored(number, position, isDuplicate)
      }
      this.#counting.published()
      return batch.filter((_, at) => all[at]?.isHeld === true)
    } catch (error) {
      // They keep their places: later ones of their keys must not come before them.
      if (waits && hasWaited(error)) return [...batch]
      const refusal = refusalOf(error)
      if (refusal === undefined) reach.failed(error)
      else if (refusal instanceof NotStoredError) this.#refuse(batch, refusal)
      else for (const { number } of batch) this.#publisher.refused(number, refusal, false)
      return []
    }
  }

  /** Events are refused for now, and with them all that wait behind them: those must not be stored before. */
  #refuse(batch: readonly Numbered[], refusal: NotStoredError): void {
    const patterns = new Set(batch.map(({ event }) => event.address))
    const isBehind = ({ event }: Numbered) => patterns.has(event.address)
    const behind = [...this.#held, ...this.#waiting].filter(isBehind)
    this.#held = this.#held.filter((one) => !isBehind(one))
    this.#waiting = this.#waiting.filter((one) => !isBehind(one))
    for (const { number } of [...batch, ...behind]) this.#publisher.refused(number, refusal, true)
  }
}

function rowOf(event: OutgoingRow): NewEvent {
  const delay = delayLeft(event)
  return delay === undefined ? event.row : { ...event.row, delay }
}

/** Whether PostgreSQL has ended a statement because it had waited for long: `lock_timeout`, `statement_timeout`. */
function hasWaited(error: unknown): boolean {
  const state = answeredState(error)
  return state === '55P03' || state === '57014'
}

/** The error for a statement that PostgreSQL has refused; `undefined`: it was not answered. */
function refusalOf(error: unknown): NotStoredError | EventRefusedError | undefined {
  const state = answeredState(error)
  if (state === undefined) return undefined
  const text = `PostgreSQL does not store the event: ${String((error as Error).message)} (${state})`
  // 22: the value cannot be stored, whatever the database does. All others may pass: a full disk, a standby, a lock.
  return state.startsWith('22') ? new EventRefusedError(text, error) : new NotStoredError(text, true, error)
}

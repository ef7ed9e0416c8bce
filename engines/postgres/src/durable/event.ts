/** An event in the hands of this process. */
import { headersIn, type StoredEvent } from '@elysia-microservices/engine'
import type { HeldEvent, MessageHeaders } from '@elysia-microservices/transport/kit'
import type { TakenRow } from '../connection/turn.ts'

/** The events that one turn has taken for a group; the database has them as one row. */
export interface Batch {
  readonly id: string
  /** Its events that are not settled. */
  readonly left: Set<TakenEvent>
  /** Until this time no other process gets them, by the clock of the turns. */
  leasedUntil: number
  /** Another process may have them. */
  isLost: boolean
}

/** A row of the log, or a dead letter that was given back. */
export class TakenEvent implements HeldEvent, StoredEvent {
  readonly row: TakenRow
  readonly batch: Batch
  /** The key for which others wait; `null`: nobody waits for this event. */
  readonly lock: string | null
  attempt: number
  /** Number of runs that have begun: after a pause, the run of the next attempt has not. */
  begun: number
  /** Its transactional handler has acknowledged it, in a transaction that may have been rolled back. */
  isAcknowledged = false

  constructor(row: TakenRow, batch: Batch, isOrdered: boolean) {
    this.row = row
    this.batch = batch
    this.lock = isOrdered && row.letter === '0' ? row.key : null
    this.attempt = row.attempt
    this.begun = row.attempt - 1
  }

  get pattern(): string {
    return this.row.pattern
  }

  get id(): string {
    return this.row.id
  }

  get key(): string | undefined {
    return this.row.key ?? undefined
  }

  get headers(): MessageHeaders | undefined {
    return headersIn(this.row.headers)
  }

  get publishedAt(): number {
    return this.row.published
  }

  get position(): string {
    return this.row.position
  }

  /** A dead letter that was given back has lost its place among the events of its key. */
  get isFree(): boolean {
    return this.row.letter !== '0'
  }
}

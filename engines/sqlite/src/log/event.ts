/** Events as the log takes and gives them. */
import { headersIn, type StoredEvent } from '@elysia-microservices/engine'
import type { HeldEvent, MessageHeaders } from '@elysia-microservices/transport/kit'

/** An event that is to be stored. */
export interface NewEvent {
  /** The pattern to which it is published, as an address. */
  readonly pattern: string
  readonly id: string
  /** The id was generated for this one publishing, so no other event has it. */
  readonly isOwnId: boolean
  readonly key: string | undefined
  /** The headers as JSON. */
  readonly headers: string | undefined
  /** The packet as JSON. */
  readonly body: string
  /** The size in bytes. */
  readonly size: number
  /** When it is published, in milliseconds since 1970; `undefined`: now. */
  readonly due: number | undefined
}

/** The fate of an event that was to be stored. */
export interface Appended {
  /** `undefined`: it waits for its time. */
  readonly position: number | undefined
  /** An event with its id is stored already; then nothing was stored. */
  readonly isDuplicate: boolean
}

/** An event in the hands of this process: a row of the log, or a dead letter that was given back. */
export class TakenEvent implements HeldEvent, StoredEvent {
  readonly place: number
  /** The dead letter that was given back; 0: none. */
  readonly letter: number
  readonly pattern: string
  readonly id: string
  readonly key: string | undefined
  readonly publishedAt: number
  readonly body: string
  readonly #headers: string | null
  attempt: number
  /** Number of begun runs, as the file has it. */
  begun: number
  /** Its transactional handler has acknowledged it. */
  isAcknowledged = false

  constructor(row: EventRow, begun: number, isBeginning: boolean) {
    this.place = row.position
    this.letter = row.letter
    this.pattern = row.pattern
    this.id = row.id
    this.key = row.key ?? undefined
    this.publishedAt = row.published
    this.body = row.body
    this.#headers = row.headers
    this.attempt = begun + 1
    this.begun = isBeginning ? begun + 1 : begun
  }

  get position(): string {
    return String(this.place)
  }

  get headers(): MessageHeaders | undefined {
    return headersIn(this.#headers)
  }

  /** The headers as JSON, as the file has them. */
  get headersText(): string | null {
    return this.#headers
  }

  /** A dead letter that was given back has lost its place among the events of its key. */
  get isFree(): boolean {
    return this.letter !== 0
  }
}

/** A row of the log, or of the dead letters, with the name of its pattern. */
export interface EventRow {
  readonly position: number
  readonly letter: number
  readonly pattern: string
  readonly published: number
  readonly id: string
  readonly key: string | null
  readonly headers: string | null
  readonly body: string
}

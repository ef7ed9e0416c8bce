/** An event on its way to the log. */
import type { OutgoingEvent } from '@elysia-microservices/engine'
import type { NewEvent } from '../connection/in-transaction.ts'

/** An event to be stored. */
export interface OutgoingRow extends OutgoingEvent {
  readonly row: NewEvent
}

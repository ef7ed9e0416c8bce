/** An event on its way to a stream, and what the stream says of it. */
import type { Msg, MsgHdrs } from '@nats-io/transport-node'
import { textOf } from '../wire.ts'

/** What is to be published. */
export interface OutgoingEvent {
  readonly pattern: string
  readonly subject: string
  readonly payload: Uint8Array
  /** With the id in it. */
  readonly headers: MsgHdrs
  readonly id: string
  /** Nobody else has this id: what is a duplicate is our own. */
  readonly isOwnId: boolean
  /** Milliseconds; 0: no limit. */
  readonly timeout: number
  readonly signal: AbortSignal | undefined
}

/** What JetStream answers to who publishes. */
export interface PubAck {
  readonly seq?: number
  readonly duplicate?: boolean
  readonly error?: { readonly code: number; readonly err_code?: number; readonly description: string }
}

/** `undefined`: it is said by somebody else, who has no business to. */
export function readPubAck({ data }: Msg): PubAck | undefined {
  try {
    const said = Object(JSON.parse(textOf(data))) as PubAck
    return typeof said.seq === 'number' || said.error !== undefined ? said : undefined
  } catch {
    return undefined
  }
}

/** An event as a message of JetStream. */
import type { OutgoingEvent } from '@elysia-microservices/engine'
import type { MsgHdrs } from '@nats-io/transport-node'

/** An event to publish to a stream. */
export interface StoredMessage extends OutgoingEvent {
  readonly payload: Uint8Array
  /** The headers, including the id. */
  readonly headers: MsgHdrs
  /**
   * The last part of the event's reply address. It holds a secret, so that nobody else can confirm the event.
   * `undefined`: the event was not sent yet.
   */
  token?: string
}

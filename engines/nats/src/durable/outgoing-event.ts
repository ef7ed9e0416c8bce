/** An event as a message of JetStream. */
import type { OutgoingEvent } from '@elysia-microservices/engine'
import type { MsgHdrs } from '@nats-io/transport-node'

/** An event to publish to a stream. */
export interface StoredMessage extends OutgoingEvent {
  readonly payload: Uint8Array
  /** The headers, including the id. */
  readonly headers: MsgHdrs
  /** The subject, if it is not the address. */
  readonly subject?: string | undefined
  /** The pattern of an event that waits for its time; its `address` is that of all such events of the pattern. */
  readonly waitsFor?: string | undefined
  /**
   * The last part of the event's reply address. It holds a secret, so that nobody else can confirm the event.
   * `undefined`: the event was not sent yet.
   */
  token?: string
}

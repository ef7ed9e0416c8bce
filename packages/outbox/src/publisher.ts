/** The part of a client that the relay needs: its method `publish`. Any object with this method can be used. */
import type { MessageHeaders } from '@elysia-microservices/transport'

/** The broker's answer about a stored event. */
export interface RelayPublished {
  /** The event's id. */
  readonly id: string
  /** The event's position in the broker; `undefined` if the broker has no positions. */
  readonly position: string | undefined
  /** Whether the broker had the event already, so that it did not store it again. */
  readonly duplicate: boolean
}

/** Options with which the relay publishes an event. */
export interface RelayPublishOptions {
  /** The id is the same each time this event is published, so that the broker can drop duplicates. */
  readonly id?: string
  /** Events with the same key are handled in order. */
  readonly key?: string
  readonly headers?: MessageHeaders
  /** Aborts the wait for the broker's answer. */
  readonly signal?: AbortSignal
  /** Milliseconds to wait for the broker's answer. */
  readonly timeout?: number
}

/** Publishes events: a client over a transport that stores them. */
export interface Publisher {
  /** Resolves when the event is stored; rejects if the event is not stored, or if the outcome is unknown. */
  publish(pattern: string, data: unknown, options?: RelayPublishOptions): Promise<RelayPublished>
}

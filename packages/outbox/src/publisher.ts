/**
 * The part of a client that the relay needs: its `publish`. Known by its structure, so that any client that has it will
 * do.
 */
import type { Headers } from '@elysia-microservices/transport'

/** The engine's answer about a message that it stored. */
export interface Published {
  /** The message's id. */
  readonly id: string
  /** Its place in the engine; `undefined` if it has none. */
  readonly position: string | undefined
  /** Whether the engine had it already, and so did not store it again. */
  readonly duplicate: boolean
}

/** Options with which the relay publishes an event. */
export interface PublishOptions {
  /** The same each time that this event is published, so that the engine can drop what it has already. */
  readonly id?: string
  /** Events with the same key are handled in order. */
  readonly key?: string
  readonly headers?: Headers
  /** Gives up waiting. */
  readonly signal?: AbortSignal
  /** Milliseconds to wait. */
  readonly timeout?: number
}

/** Stores events: a client over a transport that stores messages. */
export interface Publisher {
  /** Resolves when the event is stored; rejects if it is not, or if that is not known. */
  publish(pattern: string, data: unknown, options?: PublishOptions): Promise<Published>
}

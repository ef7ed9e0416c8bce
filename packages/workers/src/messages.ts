/**
 * The messages between a supervisor and its workers. A mark separates them from messages that the program itself
 * sends between its processes.
 */
import type { TransportStats } from '@elysia-microservices/transport/kit'

const KEY = 'elysia-microservices'

/** Requests of a supervisor to a worker. */
export type Question =
  | { readonly about: 'stats' }
  /** A question that a transport in the supervisor asks the same transport in a worker. */
  | { readonly about: 'transport'; readonly index: number; readonly question: unknown }

/** A message from the supervisor to a worker. */
export type ToWorker =
  /** `isReplaced`: another process has taken the worker's place, and the service goes on. */
  | { readonly type: 'stop'; readonly isReplaced: boolean }
  | { readonly type: 'question'; readonly id: number; readonly question: Question }

/** A message from a worker to the supervisor. */
export type FromWorker =
  | { readonly type: 'ready' }
  | { readonly type: 'failed'; readonly reason: string }
  | { readonly type: 'answer'; readonly id: number; readonly stats?: readonly TransportStats[] | undefined }
  | { readonly type: 'no-answer'; readonly id: number; readonly reason: string }

/** Adds the mark of this library to a message. */
export function marked(message: ToWorker | FromWorker): Record<string, unknown> {
  return { [KEY]: message }
}

/** The message inside the mark; `undefined` if what was received has no mark of this library. */
export function unmarked<Message extends ToWorker | FromWorker>(received: unknown): Message | undefined {
  return (Object(received) as Record<string, unknown>)[KEY] as Message | undefined
}

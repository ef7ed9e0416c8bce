/** The messages between supervisor and workers, beside all others that the program sends between its processes. */
import type { TransportStats } from '@elysia-microservices/transport/kit'

const KEY = 'elysia-microservices'

/** Requests of a supervisor to a worker. */
export type Question =
  | { readonly about: 'stats' }
  /** A question from a transport in the supervisor to the same one in a worker. */
  | { readonly about: 'transport'; readonly index: number; readonly question: unknown }

/** From the supervisor. */
export type ToWorker =
  | { readonly type: 'stop' }
  | { readonly type: 'question'; readonly id: number; readonly question: Question }

/** From a worker. */
export type FromWorker =
  | { readonly type: 'ready' }
  | { readonly type: 'failed'; readonly reason: string }
  | { readonly type: 'answer'; readonly id: number; readonly stats?: readonly TransportStats[] | undefined }
  | { readonly type: 'no-answer'; readonly id: number; readonly reason: string }

/** A message with the mark of this library. */
export function marked(message: ToWorker | FromWorker): Record<string, unknown> {
  return { [KEY]: message }
}

/** The message in a mark; `undefined` if it is not ours. */
export function unmarked<Message extends ToWorker | FromWorker>(received: unknown): Message | undefined {
  return (Object(received) as Record<string, unknown>)[KEY] as Message | undefined
}

/**
 * Handlers that run on although their time (the option `timeout`) is over and their callers have an answer. Limits count
 * such work until it ends: otherwise timeouts would let in more work than a service can do.
 */
import type { IncomingMessage } from './message.ts'

// Not a field of messages, because all messages would pay for it.
const overruns = new WeakMap<IncomingMessage, PromiseLike<unknown>>()

/** Notes that the work of a handler goes on. */
export function noteOverrun(message: IncomingMessage, work: PromiseLike<unknown>): void {
  const others = overruns.get(message)
  overruns.set(message, others === undefined ? work : Promise.allSettled([others, work]))
}

/** Settles when the handlers of a message have ended; `undefined`: none runs on after its answer. */
export function overrunOf(message: IncomingMessage): PromiseLike<unknown> | undefined {
  return overruns.get(message)
}

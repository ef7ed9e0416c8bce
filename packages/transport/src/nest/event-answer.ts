/**
 * The answer to a request whose pattern has only event handlers. As in Nest, it is the result of the handler, or, of
 * several handlers, all results, each nested in the one before.
 */
import { exhaust, isStreamOfValues } from '../stream.ts'

/** The result of a handler that gives no value. Then the whole answer has no value, as with Nest's `forkJoin`. */
const NOTHING = Symbol('nothing')

/** Calls all handlers. One result is given as it is, several as `{ current, next: { current, next: … } }`. */
export function answerByEventHandlers(calls: readonly (() => unknown)[]): unknown {
  const [call] = calls
  // All are called at once, as the handlers of an event are.
  return calls.length <= 1 ? call?.() : nested(calls.map(lastOf))
}

async function nested(results: readonly Promise<unknown>[]): Promise<unknown> {
  const values = await Promise.all(results)
  if (values.includes(NOTHING)) return undefined
  return values.reduceRight((next, current) => ({ current, next }))
}

/** The value, or the last of several. */
async function lastOf(call: () => unknown): Promise<unknown> {
  const result = await call()
  if (!isStreamOfValues(result)) return result
  const last = await exhaust(result)
  return last === undefined ? NOTHING : last.value
}

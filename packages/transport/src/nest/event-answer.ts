/**
 * The answer to a request whose pattern has only event handlers. As in Nest, the answer of one handler is its result.
 * The answer of several handlers contains all results, each nested in the previous result.
 */
import { exhaust, isStreamOfValues } from '../stream.ts'

/** The result of a handler that returns no value. Then the whole answer has no value, as with Nest's `forkJoin`. */
const NOTHING = Symbol('nothing')

/** Calls all handlers. One result is returned unchanged, several as `{ current, next: { current, next: … } }`. */
export function answerByEventHandlers(calls: readonly (() => unknown)[]): unknown {
  const [call] = calls
  // All handlers are called at once, as for an event.
  return calls.length <= 1 ? call?.() : nested(calls.map(lastOf))
}

async function nested(results: readonly Promise<unknown>[]): Promise<unknown> {
  const values = await Promise.all(results)
  if (values.includes(NOTHING)) return undefined
  return values.reduceRight((next, current) => ({ current, next }))
}

/** Returns the value of a handler; of a stream, its last value. */
async function lastOf(call: () => unknown): Promise<unknown> {
  const result = await call()
  if (!isStreamOfValues(result)) return result
  const last = await exhaust(result)
  return last === undefined ? NOTHING : last.value
}

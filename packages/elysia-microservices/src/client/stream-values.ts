/** An async iterator over the values of a call. */
import { type CallReceiver, PayloadTooLargeError } from '@elysia-microservices/transport'

/** Values that may wait for a slow reader: Nest's wire has no way to ask the server to slow down. */
const MAX_WAITING = 100_000

/**
 * Starts the call when the first value is asked for, and gives it up when the loop is left.
 * @param start starts the call and returns the function that gives it up
 * @throws {PayloadTooLargeError} the reader is slower than the stream by 100,000 values
 */
export async function* streamValues<Value>(
  start: (receiver: CallReceiver) => () => void
): AsyncGenerator<Value, void, undefined> {
  let waiting: unknown[] = []
  let ended = false
  let failure: Error | undefined
  let wake = () => {}
  const end = (error?: Error) => {
    failure ??= error
    ended = true
    wake()
  }
  const cancel = start({
    next(value) {
      if (ended) return
      waiting.push(value)
      if (waiting.length > MAX_WAITING) {
        cancel()
        end(new PayloadTooLargeError('the reader of a stream', MAX_WAITING, waiting.length, 'unread values'))
      } else wake()
    },
    complete: end,
    error: end
  })
  try {
    while (true) {
      const values = waiting
      waiting = []
      for (const value of values) yield value as Value
      if (waiting.length > 0) continue
      if (failure !== undefined) throw failure
      if (ended) return
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
  } finally {
    ended = true
    cancel()
  }
}

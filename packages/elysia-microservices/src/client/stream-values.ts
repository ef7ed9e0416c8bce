/** An async iterator over the values of a call. */
import { type CallReceiver, PayloadTooLargeError, type StreamCall } from '@elysia-microservices/transport'

/** Values the server may be ahead of the reader, where the protocol can tell it. */
const WINDOW = 64
/** Values that may wait for a slow reader where it cannot: Nest's wire has no way to slow a server down. */
const MAX_WAITING = 100_000

/**
 * Starts the call when the first value is asked for, and gives it up when the loop is left.
 * @param start starts the call, with the number of values it may send before it is asked for more
 * @throws {PayloadTooLargeError} the reader is slower than the stream by 100,000 values
 */
export async function* streamValues<Value>(
  start: (receiver: CallReceiver, demand: number) => StreamCall
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
  const receiver: CallReceiver = {
    next(value) {
      if (ended) return
      waiting.push(value)
      if (waiting.length > MAX_WAITING) {
        call.cancel()
        end(new PayloadTooLargeError('the reader of a stream', MAX_WAITING, waiting.length, 'unread values'))
      } else wake()
    },
    complete: end,
    error: end
  }
  const call = start(receiver, WINDOW)
  let read = 0
  try {
    while (true) {
      const values = waiting
      waiting = []
      for (const value of values) {
        yield value as Value
        if (++read < WINDOW / 2 || ended) continue
        call.request(read)
        read = 0
      }
      if (waiting.length > 0) continue
      if (failure !== undefined) throw failure
      if (ended) return
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
  } finally {
    ended = true
    call.cancel()
  }
}

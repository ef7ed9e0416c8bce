/** Passes the values of a pulled stream to an rxjs subscriber, which cannot pull values itself. */
import { consume, type Logger } from '@elysia-microservices/transport/kit'
import type { Subscriber } from 'rxjs'

/** The number of values in a row after which other work gets its turn. */
const VALUES_A_TURN = 256

/** Passes the values of a stream to a subscriber. Returns the function that cancels the stream. */
export function feedSubscriber(stream: object, subscriber: Subscriber<unknown>, logger: Logger): () => void {
  let count = 0
  const source = consume(stream, {
    next(value) {
      subscriber.next(value)
      if (subscriber.closed) return false
      if (++count % VALUES_A_TURN > 0) return true
      // Without a pause, a stream whose values are all there already would let no other work run.
      setImmediate(() => source.resume())
      return false
    },
    complete: () => subscriber.complete(),
    error: (error) => subscriber.error(error),
    teardownFailed: (error) => logger.error('The clean-up of a stream failed', error)
  })
  source.resume()
  return () => source.cancel()
}

/** Feeds an rxjs subscriber, which cannot ask for values, from a stream that is pulled. */
import { consume, type Logger } from '@elysia-microservices/transport/kit'
import type { Subscriber } from 'rxjs'

/** Values after which other work gets its turn. */
const VALUES_A_TURN = 256

/** Gives the values of a stream to a subscriber. Returns the function that cancels it. */
export function feedSubscriber(stream: object, subscriber: Subscriber<unknown>, logger: Logger): () => void {
  let count = 0
  const source = consume(stream, {
    next(value) {
      subscriber.next(value)
      if (subscriber.closed) return false
      if (++count % VALUES_A_TURN > 0) return true
      // A stream whose values are all there would let nothing else run.
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

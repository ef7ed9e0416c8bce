/**
 * The answer of a method that answers one message, from a handler that returns a stream: of a handler that gets an
 * Observable the last value, as in Nest, otherwise the first. A stream without a value is a failure.
 */
import {
  consume,
  FEED,
  type Feed,
  type StreamSink,
  type StreamSource
} from '@elysia-microservices/transport/kit'
import { noAnswer } from './failure.ts'

/** One value of a stream. */
export class OneValue implements Feed {
  readonly #stream: object
  readonly #takesLast: boolean

  constructor(stream: object, takesLast: boolean) {
    this.#stream = stream
    this.#takesLast = takesLast
  }

  [FEED](sink: StreamSink): StreamSource {
    let found: { readonly value: unknown } | undefined
    const isLast = this.#takesLast
    return consume(this.#stream, {
      next(value) {
        found = { value }
        return isLast ? true : sink.next(value)
      },
      complete() {
        if (found === undefined) return sink.error(noAnswer())
        if (isLast) sink.next(found.value)
        sink.complete()
      },
      error: (error) => sink.error(error),
      teardownFailed: (error) => sink.teardownFailed(error)
    })
  }
}

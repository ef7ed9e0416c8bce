/**
 * Passes the values of streams through rxjs, which cannot ask a stream to wait: the demand of the caller goes past the
 * operators, straight to the streams.
 */
import {
  consume,
  FEED,
  type Feed,
  type Logger,
  type StreamSink,
  type StreamSource
} from '@elysia-microservices/transport/kit'
import { Observable, type Subscriber } from 'rxjs'

/** A stream that transports slow down to the speed of their caller; for hooks it is an Observable. */
export type Slowable = Observable<unknown> & Feed

/**
 * Makes such a stream.
 * @param feed feeds the values to a sink, as long as the sink takes them
 */
export function slowable(feed: Feed[typeof FEED], logger: Logger): Slowable {
  const stream = { [FEED]: feed }
  const values = new Observable<unknown>((subscriber) =>
    feedSubscriber(stream, subscriber, new Demand(), logger)
  )
  return Object.assign(values, stream)
}

/** Whether the caller of a message wants more values, and the streams of the message that wait until it does. */
export class Demand {
  #isThere = true
  readonly #waiting = new Set<() => void>()

  /** Whether the caller wants more values now. */
  get isThere(): boolean {
    return this.#isThere
  }

  /** Calls the function once, as soon as the caller wants more values. */
  wait(resume: () => void): void {
    this.#waiting.add(resume)
  }

  /** The values of an Observable as a stream; the demand of its reader is this demand. */
  over(values: Observable<unknown>, logger: Logger): Slowable {
    return slowable((sink) => this.#feed(values, sink), logger)
  }

  #feed(values: Observable<unknown>, sink: StreamSink): StreamSource {
    const source = consume(values, {
      next: (value, size) => {
        // The sink may resume the stream before it returns.
        this.#isThere = false
        const wanted = sink.next(value, size)
        if (wanted) this.#isThere = true
        return wanted === undefined ? undefined : this.#isThere
      },
      complete: () => sink.complete(),
      error: (error) => sink.error(error),
      teardownFailed: (error) => sink.teardownFailed(error)
    })
    return {
      resume: () => {
        this.#isThere = true
        const waiting = [...this.#waiting]
        this.#waiting.clear()
        for (const resume of waiting) resume()
      },
      cancel: () => source.cancel()
    }
  }
}

/** Passes the values of a stream to a subscriber while there is demand. Returns the function that cancels the stream. */
export function feedSubscriber(
  stream: object,
  subscriber: Subscriber<unknown>,
  demand: Demand,
  logger: Logger
): () => void {
  const resume = () => source.resume()
  const source = consume(stream, {
    next(value) {
      subscriber.next(value)
      if (subscriber.closed) return undefined
      if (demand.isThere) return true
      demand.wait(resume)
      return false
    },
    complete: () => subscriber.complete(),
    error: (error) => subscriber.error(error),
    teardownFailed: (error) => logger.error('The clean-up of a stream failed', error)
  })
  source.resume()
  return () => source.cancel()
}

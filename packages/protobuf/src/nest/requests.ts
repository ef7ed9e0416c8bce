/**
 * The messages of a caller that streams, for a handler of Nest: an Observable that several parts of the handler may
 * subscribe to. Its values wait until there is a subscriber.
 */
import {
  CanceledError,
  ConnectionError,
  consume,
  isStreamOfValues,
  nextTurn,
  type StreamSource,
  TimeoutError,
  ValueQueue
} from '@elysia-microservices/transport/kit'

/** The subscriber of an Observable. */
interface Subscriber {
  readonly closed: boolean
  next(value: unknown): void
  error(error: unknown): void
  complete(): void
}

/** The class `Observable` of rxjs. */
export type ObservableClass<Made extends object> = new (
  subscribe: (subscriber: Subscriber) => () => void
) => Made

/** The messages of one caller. */
export interface Requests {
  /** The Observable for the handler. */
  readonly values: object
  /** The handler has returned, or its promise has settled: what subscribes from the next turn on gets only what comes then. */
  settled(): void
}

/**
 * Makes the Observable. Its first value comes a turn after the first subscription: an async handler may answer by a Subject,
 * which nobody listens to before the handler has returned, and whose values would be lost. Until its handler
 * has settled, each subscriber gets the values from the beginning, because an async handler may subscribe again after
 * others have read. As an async iterable, which it is too, it makes its caller wait for a slow handler; rxjs cannot.
 * As in Nest, it completes when the caller has left: applications do not expect an error there, and an error that nobody
 * expects ends the process.
 * @param data of the message: a stream; any other value is the only one
 */
export function requestsOf(Observable: ObservableClass<object>, data: unknown): Requests {
  const values = isStreamOfValues(data) ? data : [data][Symbol.iterator]()
  const hub = new Hub(values)
  return {
    values: Object.assign(new Observable((subscriber) => hub.join(subscriber)), {
      [Symbol.asyncIterator]: () => iteratorOf(values)
    }),
    settled: () => nextTurn(() => hub.forget())
  }
}

/** Most values that are kept for subscribers who come later; with more, they get those that come then. */
const MOST_KEPT = 256

function iteratorOf(values: object): AsyncIterator<unknown> {
  if (Symbol.asyncIterator in values) return (values as AsyncIterable<unknown>)[Symbol.asyncIterator]()
  const queue = new ValueQueue<unknown>({ resume: () => source.resume(), cancel: () => source.cancel() })
  const source = consume(values, {
    next: (value) => queue.push(value),
    complete: () => queue.end(),
    error: (error) => queue.end({ error }),
    teardownFailed: () => {}
  })
  source.resume()
  return queue
}

/** Whether a stream has failed because nobody sends any more. */
function hasLeft(error: unknown): boolean {
  return error instanceof CanceledError || error instanceof TimeoutError || error instanceof ConnectionError
}

/** One stream and those who read it. */
class Hub {
  readonly #values: object
  readonly #subscribers = new Set<Subscriber>()
  #source: StreamSource | undefined
  #isAboutToBegin = false
  /** The values from the beginning; `undefined`: nobody gets them any more. */
  #kept: unknown[] | undefined = []
  /** Tells a subscriber how the stream has ended. */
  #ended: ((subscriber: Subscriber) => void) | undefined

  constructor(values: object) {
    this.#values = values
  }

  join(subscriber: Subscriber): () => void {
    for (const value of this.#kept ?? []) subscriber.next(value)
    if (this.#ended !== undefined) this.#ended(subscriber)
    else if (!subscriber.closed) {
      this.#subscribers.add(subscriber)
      this.#wanted()
    }
    return () => void this.#subscribers.delete(subscriber)
  }

  forget(): void {
    this.#kept = undefined
  }

  #wanted(): void {
    if (this.#source !== undefined) this.#source.resume()
    else if (!this.#isAboutToBegin) {
      this.#isAboutToBegin = true
      nextTurn(() => {
        this.#isAboutToBegin = false
        if (this.#subscribers.size > 0) this.#begin().resume()
      })
    }
  }

  #begin(): StreamSource {
    // A stream may have values before `consume` returns, and a subscriber may then bring another one.
    this.#source = { resume() {}, cancel() {} }
    this.#source = consume(this.#values, {
      next: (value) => {
        if (this.#kept !== undefined && this.#kept.push(value) > MOST_KEPT) this.#kept = undefined
        for (const subscriber of [...this.#subscribers]) subscriber.next(value)
        return this.#subscribers.size > 0
      },
      complete: () => this.#end((subscriber) => subscriber.complete()),
      error: (error) =>
        this.#end((subscriber) => (hasLeft(error) ? subscriber.complete() : subscriber.error(error))),
      teardownFailed: () => {}
    })
    return this.#source
  }

  #end(tell: (subscriber: Subscriber) => void): void {
    this.#ended = tell
    for (const subscriber of [...this.#subscribers]) tell(subscriber)
    this.#subscribers.clear()
  }
}

/** A stream whose values and failures are changed on their way. It stays what it was: pulled, or pushed. */
import { consume, isThenable } from '@elysia-microservices/transport'
import { concatMap, from, map, Observable, of } from 'rxjs'

/** Gives what goes on instead of a value; may give a promise of it. What it throws ends the stream. */
type MapValue = (value: unknown) => unknown
/** Gives the last value instead of a failure, or throws; may give a promise. `undefined` ends the stream. */
type MapFailure = (error: unknown) => unknown

/** The stream with its values and failures changed. */
export function mapStream(stream: object, onValue: MapValue, onFailure?: MapFailure): object {
  return 'subscribe' in stream
    ? mapObservable(stream, onValue, onFailure)
    : new MappedIterator(stream, onValue, onFailure)
}

function mapObservable(stream: object, onValue: MapValue, onFailure: MapFailure | undefined): object {
  const source = new Observable<unknown>((subscriber) => consume(stream, subscriber))
  const mapped = source.pipe(
    map(onValue),
    concatMap((value) => (isPromise(value) ? from(value) : of(value)))
  )
  if (onFailure === undefined) return mapped
  return new Observable<unknown>((subscriber) => {
    const end = (last: unknown) => {
      if (last !== undefined) subscriber.next(last)
      subscriber.complete()
    }
    return mapped.subscribe({
      next: (value) => subscriber.next(value),
      complete: () => subscriber.complete(),
      error: (error: unknown) => {
        try {
          const last = onFailure(error)
          if (isPromise(last)) last.then(end, (failure: unknown) => subscriber.error(failure))
          else end(last)
        } catch (failure) {
          subscriber.error(failure)
        }
      }
    })
  })
}

/**
 * Not an async generator, whose `return` waits for the step in progress: giving up must reach the source at
 * once, or a source that waits for something would wait for ever.
 */
class MappedIterator implements AsyncIterableIterator<unknown> {
  readonly #source: Iterator<unknown> | AsyncIterator<unknown>
  readonly #onValue: MapValue
  readonly #onFailure: MapFailure | undefined
  #ended = false

  constructor(stream: object, onValue: MapValue, onFailure: MapFailure | undefined) {
    this.#source =
      Symbol.asyncIterator in stream
        ? (stream as AsyncIterable<unknown>)[Symbol.asyncIterator]()
        : (stream as Iterable<unknown>)[Symbol.iterator]()
    this.#onValue = onValue
    this.#onFailure = onFailure
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async next(): Promise<IteratorResult<unknown>> {
    if (this.#ended) return { done: true, value: undefined }
    let step: IteratorResult<unknown>
    try {
      step = await this.#source.next()
    } catch (error) {
      return this.#fail(error)
    }
    if (step.done === true) return step
    try {
      return { done: false, value: await this.#onValue(step.value) }
    } catch (error) {
      // The source knows nothing of this: it is told to end.
      void this.return()
      return this.#fail(error)
    }
  }

  async return(): Promise<IteratorResult<unknown>> {
    this.#ended = true
    try {
      await this.#source.return?.()
    } catch {
      // Its failure concerns nobody any more.
    }
    return { done: true, value: undefined }
  }

  async #fail(error: unknown): Promise<IteratorResult<unknown>> {
    this.#ended = true
    if (this.#onFailure === undefined) throw error
    const value = await this.#onFailure(error)
    return value === undefined ? { done: true, value } : { done: false, value }
  }
}

function isPromise(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && isThenable(value)
}

/** A stream whose values and failures are changed on their way. It stays what it was: pulled, or pushed. */
import { type Cancel, consume, type ResultSink } from '@elysia-microservices/transport'
import { isPromise } from '../promise.ts'

/** Gives what goes on instead of a value; may give a promise of it. What it throws ends the stream. */
type MapValue = (value: unknown) => unknown
/** Gives the last value instead of a failure, or throws; may give a promise. `undefined` ends the stream. */
type MapFailure = (error: unknown) => unknown

/** The stream with its values and failures changed. */
export function mapStream(stream: object, onValue: MapValue, onFailure?: MapFailure): object {
  return 'subscribe' in stream
    ? new MappedObservable(stream, onValue, onFailure)
    : new MappedIterator(stream, onValue, onFailure)
}

/** An Observable for whoever subscribes to results; not rxjs's, which a service need not load for it. */
class MappedObservable {
  readonly #source: object
  readonly #onValue: MapValue
  readonly #onFailure: MapFailure | undefined
  readonly '@@observable' = () => this

  constructor(source: object, onValue: MapValue, onFailure: MapFailure | undefined) {
    this.#source = source
    this.#onValue = onValue
    this.#onFailure = onFailure
  }

  subscribe(observer: Observer): { unsubscribe(): void } {
    const subscription = new Subscription(sinkOf(observer), this.#onValue, this.#onFailure)
    subscription.start(this.#source)
    return subscription
  }
}

/** Whoever subscribes may leave out what it does not care for. */
type Observer = Partial<ResultSink> | ((value: unknown) => void)

function sinkOf(observer: Observer): ResultSink {
  const given: Partial<ResultSink> = typeof observer === 'function' ? { next: observer } : observer
  return {
    next: (value) => given.next?.(value),
    complete: () => given.complete?.(),
    error: (error) => given.error?.(error),
    ready: () => given.ready?.()
  }
}

/** What comes while a promise is awaited waits behind it: values keep their order. */
class Subscription implements ResultSink {
  readonly #sink: ResultSink
  readonly #onValue: MapValue
  readonly #onFailure: MapFailure | undefined
  #behind: Promise<void> | undefined
  #cancel: Cancel | undefined
  #ended = false

  constructor(sink: ResultSink, onValue: MapValue, onFailure: MapFailure | undefined) {
    this.#sink = sink
    this.#onValue = onValue
    this.#onFailure = onFailure
  }

  start(source: object): void {
    const cancel = consume(source, this)
    if (this.#ended) cancel()
    else this.#cancel = cancel
  }

  unsubscribe(): void {
    this.#ended = true
    this.#cancel?.()
  }

  next(value: unknown): void {
    this.#inTurn(() => {
      const mapped = this.#onValue(value)
      return isPromise(mapped) ? mapped.then((awaited) => this.#pass(awaited)) : this.#pass(mapped)
    })
  }

  complete(): void {
    this.#inTurn(() => this.#end(() => this.#sink.complete()))
  }

  error(error: unknown): void {
    this.#inTurn(() => this.#fail(error))
  }

  ready(): Promise<void> | undefined {
    return this.#sink.ready?.()
  }

  #inTurn(step: () => void | PromiseLike<void>): void {
    if (this.#ended) return
    if (this.#behind !== undefined) {
      this.#behind = this.#behind.then(() => this.#run(step))
      return
    }
    const running = this.#run(step)
    if (running === undefined) return
    const behind = running.then(() => {
      if (this.#behind === behind) this.#behind = undefined
    })
    this.#behind = behind
  }

  #run(step: () => void | PromiseLike<void>): Promise<void> | undefined {
    if (this.#ended) return undefined
    const failed = (error: unknown) => {
      // The source knows nothing of this: it is told to end.
      this.#cancel?.()
      return this.#fail(error)
    }
    try {
      const running = step()
      return running === undefined ? undefined : Promise.resolve(running).catch(failed)
    } catch (error) {
      const failing = failed(error)
      return failing === undefined ? undefined : Promise.resolve(failing)
    }
  }

  #pass(value: unknown): void {
    if (!this.#ended) this.#sink.next(value)
  }

  #fail(error: unknown): void | PromiseLike<void> {
    try {
      if (this.#onFailure === undefined) throw error
      const last = this.#onFailure(error)
      if (!isPromise(last)) return this.#last(last)
      return last.then(
        (value) => this.#last(value),
        (failure: unknown) => this.#end(() => this.#sink.error(failure))
      )
    } catch (failure) {
      this.#end(() => this.#sink.error(failure))
    }
  }

  #last(value: unknown): void {
    if (value !== undefined) this.#pass(value)
    this.#end(() => this.#sink.complete())
  }

  #end(say: () => void): void {
    if (this.#ended) return
    this.#ended = true
    say()
  }
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

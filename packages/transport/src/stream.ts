/**
 * What a handler may return, beside a plain value: a promise, an Observable, an async iterable or an
 * iterator. This file tells them apart and feeds the values of a stream to a sink, whatever protocol is behind it.
 */

/** Takes the values of a stream. After `complete` or `error` it is called no more, but for `teardownFailed`. */
export interface StreamSink {
  /**
   * Takes a value. False: the sink has enough for now, and asks for more by `StreamSource.resume`. An Observable
   * cannot be slowed: its values go on coming.
   */
  next(value: unknown): boolean
  complete(): void
  error(error: unknown): void
  /** The stream was cancelled, and its clean-up threw or rejected. Nobody waits for it: it is for the log. */
  teardownFailed(error: unknown): void
}

/** A stream that feeds a sink. Neither method throws, and both may be called at any time. */
export interface StreamSource {
  /** The sink takes values: at first, and again after `next` has returned false. */
  resume(): void
  /** Ends the stream early: unsubscribes from an Observable, calls `return` of an iterator. */
  cancel(): void
  /** Lets `n` more values come: of a call whose receiver asks for values itself (`StreamOptions.demand`). */
  request?(n: number): void
}

/** The key of the method by which streams of this library are consumed; see `Feed`. */
export const FEED: unique symbol = Symbol.for('elysia-microservices.feed')

/** A stream made by this library, for example one that watches another. */
export interface Feed {
  [FEED](sink: StreamSink): StreamSource
}

interface Subscribable {
  subscribe(observer: { next(value: unknown): void; error(error: unknown): void; complete(): void }): unknown
}

/** A promise or another thenable. Throws what a getter or a Proxy of the user's throws. */
export function isThenable(value: object): value is PromiseLike<unknown> {
  return 'then' in value && typeof value.then === 'function'
}

/** Calls `then` as it was when this module was loaded: a promise may carry one of the user's own. */
const { then } = Promise.prototype

/**
 * A promise of the runtime: it settles once, in a later turn, and what a thenable throws rejects it. That of a subclass,
 * whose `then` may be what starts the work, and a Proxy of one are thenables like others.
 */
export function asPromise<Value>(thenable: PromiseLike<Value>): Promise<Value> {
  try {
    return Promise.resolve(thenable)
  } catch (error) {
    // A getter of the user's.
    return Promise.reject(error)
  }
}

/**
 * Calls one of the two, once and in a later turn. The promise is for what they return; it rejects as the thenable does
 * where nobody takes its rejection. Never throws.
 */
export function whenSettled<Result>(
  thenable: PromiseLike<unknown>,
  fulfilled: (value: unknown) => Result,
  rejected?: (error: unknown) => Result
): Promise<Awaited<Result>> {
  return then.call(asPromise(thenable), fulfilled, rejected) as Promise<Awaited<Result>>
}

/**
 * Whether a value is a stream of values. Observables (rxjs or alike), async iterables and iterators
 * (generators) are; arrays, strings, Maps and Sets are values, although they can be iterated. Throws what a getter
 * or a Proxy of the user's throws.
 */
export function isStream(value: object): boolean {
  return FEED in value || isSubscribable(value) || isIteratorLike(value)
}

/** Whether a value of any kind is a stream of values. */
export function isStreamOfValues(value: unknown): value is object {
  return typeof value === 'object' && value !== null && isStream(value)
}

/**
 * Feeds a stream to a sink. An iterator is pulled from the first `resume` on, one value at a time and only while the
 * sink takes values; an Observable is subscribed to at once. The sink gets exactly one `complete` or `error`, unless
 * the stream is cancelled. Never throws: a stream that cannot be begun has failed.
 */
export function consume(stream: object, sink: StreamSink): StreamSource {
  try {
    if (FEED in stream) return (stream as Feed)[FEED](sink)
    if (isSubscribable(stream)) return new Subscription(stream, sink)
    if (Symbol.asyncIterator in stream)
      return new AsyncPull((stream as AsyncIterable<unknown>)[Symbol.asyncIterator](), sink)
    return new SyncPull((stream as Iterable<unknown>)[Symbol.iterator](), sink)
  } catch (error) {
    sink.error(error)
    return NOTHING
  }
}

const NOTHING: StreamSource = { resume() {}, cancel() {} }

function isSubscribable(value: object): value is Subscribable {
  return (
    'subscribe' in value &&
    typeof value.subscribe === 'function' &&
    // rxjs knows its own by `lift`; others say so by the well-known name.
    ('lift' in value || '@@observable' in value || observableSymbol() in value)
  )
}

function observableSymbol(): symbol {
  // Read when needed: polyfills may define it after this module is loaded.
  return (Symbol as { readonly observable?: symbol }).observable ?? Symbol.for('observable')
}

function isIteratorLike(value: object): boolean {
  return (
    Symbol.asyncIterator in value ||
    (Symbol.iterator in value && 'next' in value && typeof value.next === 'function')
  )
}

/** Pushes the values of an Observable. */
class Subscription implements StreamSource {
  readonly #sink: StreamSink
  #isOver = false
  /** What `subscribe` returned: anything. */
  #subscription: unknown

  constructor(stream: Subscribable, sink: StreamSink) {
    this.#sink = sink
    const fail = (error: unknown) => {
      if (this.#isOver) return
      this.#isOver = true
      sink.error(error)
    }
    try {
      this.#subscription = stream.subscribe({
        next: (value) => {
          if (!this.#isOver) sink.next(value)
        },
        error: fail,
        complete: () => {
          if (this.#isOver) return
          this.#isOver = true
          sink.complete()
        }
      })
    } catch (error) {
      // It may have ended, or have given values, before it threw.
      fail(error)
    }
  }

  resume(): void {}

  cancel(): void {
    this.#isOver = true
    const subscription = this.#subscription
    this.#subscription = undefined
    try {
      const { unsubscribe } = Object(subscription) as { unsubscribe?: unknown }
      if (typeof unsubscribe === 'function') unsubscribe.call(subscription)
    } catch (error) {
      this.#sink.teardownFailed(error)
    }
  }
}

/** Pulls an iterator whose values are there at once: without a promise, as long as the sink takes values. */
class SyncPull implements StreamSource {
  readonly #iterator: Iterator<unknown>
  readonly #sink: StreamSink
  #isOver = false
  #isPulling = false
  /** The sink has asked for more while the last value was on its way to it. */
  #isAsked = false

  constructor(iterator: Iterator<unknown>, sink: StreamSink) {
    this.#iterator = iterator
    this.#sink = sink
  }

  resume(): void {
    this.#isAsked = true
    if (this.#isPulling || this.#isOver) return
    this.#isPulling = true
    try {
      while (this.#isAsked && !this.#isOver) {
        const step = checkedStep(this.#iterator.next())
        if (this.#isOver) break
        if (step.done === true) {
          this.#isOver = true
          return this.#sink.complete()
        }
        this.#isAsked = false
        if (this.#sink.next(step.value)) this.#isAsked = true
      }
    } catch (error) {
      if (this.#isOver) this.#sink.teardownFailed(error)
      else {
        this.#isOver = true
        return this.#sink.error(error)
      }
    } finally {
      this.#isPulling = false
    }
    // Cancelled from within: a generator that is running cannot be ended before its step is.
    if (this.#isOver) endIterator(this.#iterator, this.#sink)
  }

  cancel(): void {
    if (this.#isOver) return
    this.#isOver = true
    if (!this.#isPulling) endIterator(this.#iterator, this.#sink)
  }
}

/** Pulls an async iterator: one promise for each value, and one more for each pause. */
class AsyncPull implements StreamSource {
  readonly #iterator: AsyncIterator<unknown>
  readonly #sink: StreamSink
  #isOver = false
  #isPulling = false
  #isAsked = false

  constructor(iterator: AsyncIterator<unknown>, sink: StreamSink) {
    this.#iterator = iterator
    this.#sink = sink
  }

  resume(): void {
    this.#isAsked = true
    if (this.#isPulling || this.#isOver) return
    this.#isPulling = true
    void this.#pull()
  }

  async #pull(): Promise<void> {
    try {
      while (this.#isAsked) {
        const step = checkedStep(await this.#iterator.next())
        // What a step gives, or how it fails, after the stream was cancelled concerns nobody any more.
        if (this.#isOver) return
        if (step.done === true) {
          this.#isOver = true
          return this.#sink.complete()
        }
        this.#isAsked = false
        if (this.#sink.next(step.value)) this.#isAsked = true
        if (this.#isOver) return
      }
    } catch (error) {
      if (this.#isOver) return
      this.#isOver = true
      this.#sink.error(error)
    } finally {
      this.#isPulling = false
    }
  }

  cancel(): void {
    if (this.#isOver) return
    this.#isOver = true
    endIterator(this.#iterator, this.#sink)
  }
}

/** @throws {TypeError} it is no step, as a loop says: nothing would ever say that it is the last */
function checkedStep(step: IteratorResult<unknown>): IteratorResult<unknown> {
  if (typeof step !== 'object' || step === null)
    throw new TypeError(`next() of an iterator must give an object, but gave ${typeof step}`)
  return step
}

/** Lets an iterator clean up; one that is waiting does so when its current step is over. */
function endIterator(iterator: Iterator<unknown> | AsyncIterator<unknown>, sink: StreamSink): void {
  try {
    const returned: unknown = iterator.return?.()
    if (typeof returned === 'object' && returned !== null && isThenable(returned))
      void whenSettled(
        returned,
        () => {},
        (error) => sink.teardownFailed(error)
      )
  } catch (error) {
    sink.teardownFailed(error)
  }
}

/** Values of a stream that is exhausted, after which other work gets its turn. */
const VALUES_A_TURN = 1_000

/** Takes all values of a stream, for what its making does. Gives the last one; rejects if the stream fails. */
export function exhaust(stream: object): Promise<{ readonly value: unknown } | undefined> {
  return new Promise((resolve, reject) => {
    let last: { readonly value: unknown } | undefined
    let count = 0
    const source = consume(stream, {
      next(value) {
        last = { value }
        if (++count % VALUES_A_TURN > 0) return true
        // Values that are all there would never let anything else have its turn.
        setTimeout(() => source.resume(), 0)
        return false
      },
      complete: () => resolve(last),
      error: reject,
      teardownFailed: reject
    })
    source.resume()
  })
}

/** How the result of a handler has ended: with its last value, with an error, or because nobody takes it any more. */
export type ResultEnd =
  | { readonly outcome: 'completed' }
  | { readonly outcome: 'failed'; readonly error: unknown }
  | { readonly outcome: 'canceled' }

/** Who watches a result. */
export interface ResultWatcher {
  /** The result is a promise that has not settled. */
  pending?(): void
  /** The promise has settled, well or not. */
  settled?(): void
  /** The result is a stream, and somebody begins to take its values. */
  streaming?(): void
  /** A value passes: the only one, or one of a stream's. */
  value?(value: unknown): void
  /** What goes on in the place of an error. Default: the error itself. */
  error?(error: unknown): unknown
  /** The result has ended. Called once; for a stream that nobody begins to take, never. */
  ended(end: ResultEnd): void
  /** Runs a piece of the user's code: the steps of a generator, a subscription. Default: just so. */
  run?<Result>(work: () => Result): Result
}

const COMPLETED: ResultEnd = { outcome: 'completed' }
const CANCELED: ResultEnd = { outcome: 'canceled' }

/** Watches the result of a handler: gives the same result, whose end (and values) the watcher hears of. */
export function tap(result: unknown, watcher: ResultWatcher): unknown {
  if (typeof result !== 'object' || result === null) return passed(result, watcher)
  if (!isThenable(result))
    return isStream(result) ? new TappedStream(result, watcher) : passed(result, watcher)
  watcher.pending?.()
  return whenSettled(
    result,
    (value) => {
      watcher.settled?.()
      return isStreamOfValues(value) ? new TappedStream(value, watcher) : passed(value, watcher)
    },
    (error) => {
      watcher.settled?.()
      watcher.ended({ outcome: 'failed', error })
      throw watcher.error === undefined ? error : watcher.error(error)
    }
  )
}

function passed(value: unknown, watcher: ResultWatcher): unknown {
  watcher.value?.(value)
  watcher.ended(COMPLETED)
  return value
}

class TappedStream implements Feed {
  readonly #stream: object
  readonly #watcher: ResultWatcher

  constructor(stream: object, watcher: ResultWatcher) {
    this.#stream = stream
    this.#watcher = watcher
  }

  [FEED](sink: StreamSink): StreamSource {
    const watcher = this.#watcher
    const run = watcher.run?.bind(watcher) ?? (<Result>(work: () => Result) => work())
    let hasEnded = false
    const end = (how: ResultEnd) => {
      if (hasEnded) return
      hasEnded = true
      watcher.ended(how)
    }
    watcher.streaming?.()
    const source = run(() =>
      consume(this.#stream, {
        next(value) {
          watcher.value?.(value)
          return sink.next(value)
        },
        complete() {
          end(COMPLETED)
          sink.complete()
        },
        error(error) {
          end({ outcome: 'failed', error })
          sink.error(watcher.error === undefined ? error : watcher.error(error))
        },
        teardownFailed: (error) => sink.teardownFailed(error)
      })
    )
    return {
      resume: () => run(() => source.resume()),
      request: (n) => source.request?.(n),
      cancel() {
        end(CANCELED)
        run(() => source.cancel())
      }
    }
  }
}

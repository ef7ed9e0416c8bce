/**
 * Recognises the results of a handler that are not plain values (a promise, an Observable, an async iterable, an
 * iterator) and feeds the values of a stream to a sink. Every protocol has its own sink.
 *
 * All values that are pulled from a stream are pulled in this file, so this file lets the event loop have its turn,
 * whatever a sink says about its room.
 */
import { rest } from './rest.ts'

/** Receives the values of a stream. After `complete` or `error` only `teardownFailed` may still be called. */
export interface StreamSink {
  /**
   * Takes a value. Returns false if the sink wants no more values for now; the sink later calls `StreamSource.resume`.
   * An Observable cannot be slowed: it keeps emitting values. Returns `undefined` if the sink has ended and never wants
   * another value: this also ends an Observable that emits all its values while it is subscribed to.
   */
  next(value: unknown, size?: number): boolean | undefined
  /** The stream has no more values. */
  complete(): void
  /** The stream has failed. */
  error(error: unknown): void
  /** The clean-up of a cancelled stream has failed. The sink logs the error, because no caller waits for it. */
  teardownFailed(error: unknown): void
}

/** A stream that feeds a sink. Its methods never throw and may be called at any time. */
export interface StreamSource {
  /** Lets the stream feed values: called at the start, and again after `next` has returned false. */
  resume(): void
  /** Ends the stream early: unsubscribes from an Observable or calls `return` of an iterator. */
  cancel(): void
  /** Asks for `n` more values. Only streams of calls with the option `demand` have this method. */
  request?(n: number): void
}

/** The name of the method that makes an object a `Feed`. */
export const FEED: unique symbol = Symbol.for('elysia-microservices.feed')

/** A stream made by this library, such as one that watches another stream. It is consumed without an iterator. */
export interface Feed {
  /** Feeds the values to a sink, as long as the sink takes them. */
  [FEED](sink: StreamSink): StreamSource
}

interface Observer {
  next(value: unknown): void
  error(error: unknown): void
  complete(): void
}

interface Subscribable {
  subscribe(observer: Observer): unknown
}

/** An Observable of rxjs, with the method by which its operators are added. */
interface Liftable extends Subscribable {
  lift(operator: { call(subscriber: Observer, source: Subscribable): unknown }): Subscribable
}

/** Whether a value is a promise or another thenable. Throws if the user's getter or Proxy throws. */
export function isThenable(value: object): value is PromiseLike<unknown> {
  return 'then' in value && typeof value.then === 'function'
}

/** The original `then`, because the user may have replaced `then` of a promise. */
const { then } = Promise.prototype

/**
 * Turns a thenable into a native promise, which settles once, in a later turn, and rejects if the thenable throws.
 * Promises of subclasses, whose `then` may start the work, and Proxies of promises are treated as thenables.
 */
export function asPromise<Value>(thenable: PromiseLike<Value>): Promise<Value> {
  try {
    return Promise.resolve(thenable)
  } catch (error) {
    // A getter of the user has thrown.
    return Promise.reject(error)
  }
}

/**
 * Calls one of the two functions, once and in a later turn of the event loop. The returned promise resolves with the
 * result of the function. Without a function for rejections, it rejects as the thenable does. Never throws.
 */
export function whenSettled<Result>(
  thenable: PromiseLike<unknown>,
  fulfilled: (value: unknown) => Result,
  rejected?: (error: unknown) => Result
): Promise<Awaited<Result>> {
  return then.call(asPromise(thenable), fulfilled, rejected) as Promise<Awaited<Result>>
}

/**
 * Whether an object is a stream. Observables (of rxjs and others), async iterables and iterators (generators) are
 * streams; arrays, Maps and Sets are values although they can be iterated. Throws if the user's getter or Proxy throws.
 */
export function isStream(value: object): boolean {
  // Arrays are checked first, because data is most often an array or a plain object.
  return !Array.isArray(value) && (FEED in value || isSubscribable(value) || isIteratorLike(value))
}

/** Whether a value of any type is a stream. */
export function isStreamOfValues(value: unknown): value is object {
  return typeof value === 'object' && value !== null && isStream(value)
}

/**
 * Feeds a stream to a sink. An iterator is pulled from the first `resume` on, one value at a time, while the sink takes
 * values; an Observable is subscribed to at once. The sink gets exactly one `complete` or `error`, unless the stream is
 * cancelled. Never throws: if the stream cannot be started, the sink gets the error.
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
    // Observables of rxjs have `lift`; other Observables have the well-known symbol or name.
    ('lift' in value || '@@observable' in value || observableSymbol() in value)
  )
}

function observableSymbol(): symbol {
  // The symbol is read each time, because a polyfill may define it after this module is loaded.
  return (Symbol as { readonly observable?: symbol }).observable ?? Symbol.for('observable')
}

function isIteratorLike(value: object): boolean {
  return (
    Symbol.asyncIterator in value ||
    (Symbol.iterator in value && 'next' in value && typeof value.next === 'function')
  )
}

/** Feeds the values of an Observable. */
class Subscription implements StreamSource {
  readonly #sink: StreamSink
  #isOver = false
  /** The value that `subscribe` has returned, which may be any value; before, the subscriber of rxjs. */
  #subscription: unknown

  constructor(stream: Subscribable, sink: StreamSink) {
    this.#sink = sink
    try {
      this.#subscription = this.#cancelable(stream).subscribe({
        next: (value) => {
          if (!this.#isOver && sink.next(value) === undefined) this.cancel()
        },
        error: (error) => this.#fail(error),
        complete: () => {
          if (this.#isOver) return
          this.#isOver = true
          sink.complete()
        }
      })
    } catch (error) {
      // If the Observable ended before it threw, this error is ignored.
      this.#fail(error)
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

  /**
   * An Observable such as `range` emits all its values before `subscribe` returns, in a loop that ends only if its
   * subscriber is closed. An operator gets that subscriber before the first value.
   */
  #cancelable(stream: Subscribable): Subscribable {
    if (!('lift' in stream) || typeof stream.lift !== 'function') return stream
    return (stream as Liftable).lift({
      call: (subscriber, source) => {
        this.#subscription = subscriber
        return source.subscribe(subscriber)
      }
    })
  }

  #fail(error: unknown): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#sink.error(error)
  }
}

/**
 * Number of values after which an iterator waits for the next turn of the event loop. Without this pause, a sink that
 * always wants more, or asks again in each microtask, would let an iterator that never waits keep the process busy for
 * ever: no timer, no socket and no signal would be noticed.
 */
const VALUES_A_TURN = 256

/** Feeds the values of a synchronous iterator, without promises, as long as the sink takes values. */
class SyncPull implements StreamSource {
  readonly #iterator: Iterator<unknown>
  readonly #sink: StreamSink
  #isOver = false
  #isPulling = false
  /** Whether the sink wants the next value. */
  #isAsked = false
  /** Number of values since the last pause. */
  #count = 0
  /** Waits for the next turn of the event loop. */
  #isResting = false

  constructor(iterator: Iterator<unknown>, sink: StreamSink) {
    this.#iterator = iterator
    this.#sink = sink
  }

  resume(): void {
    this.#isAsked = true
    if (this.#isPulling || this.#isResting || this.#isOver) return
    this.#isPulling = true
    try {
      while (this.#isAsked && !this.#isOver) {
        if (this.#count++ === VALUES_A_TURN) return this.#rest()
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
    // The stream was cancelled during a step: a running generator can be ended only after the step.
    if (this.#isOver) endIterator(this.#iterator, this.#sink)
  }

  cancel(): void {
    if (this.#isOver) return
    this.#isOver = true
    if (!this.#isPulling) endIterator(this.#iterator, this.#sink)
  }

  #rest(): void {
    this.#count = 0
    this.#isResting = true
    void rest().then(() => {
      this.#isResting = false
      this.resume()
    })
  }
}

/** Feeds the values of an async iterator: one promise for each value, and one more for each pause. */
class AsyncPull implements StreamSource {
  readonly #iterator: AsyncIterator<unknown>
  readonly #sink: StreamSink
  #isOver = false
  #isPulling = false
  #isAsked = false
  /** Number of values since the last pause. */
  #count = 0

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
        if (this.#count++ === VALUES_A_TURN) {
          await rest()
          if (this.#isOver) return
          this.#count = 1
        }
        const step = checkedStep(await this.#iterator.next())
        // The stream was cancelled during the step, so the value of the step is dropped.
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

/**
 * @throws {TypeError} the value is not an iterator's step. A loop throws for it, too; without this check, the stream
 * would never end
 */
function checkedStep(step: IteratorResult<unknown>): IteratorResult<unknown> {
  if (typeof step !== 'object' || step === null)
    throw new TypeError(`next() of an iterator must return an object, but returned ${typeof step}`)
  return step
}

/** Lets an iterator clean up. An iterator in the middle of a step cleans up after the step. */
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

/** Runs a stream to its end for its side effects. Resolves with the last value; rejects if the stream fails. */
export function exhaust(stream: object): Promise<{ readonly value: unknown } | undefined> {
  return new Promise((resolve, reject) => {
    let last: { readonly value: unknown } | undefined
    const source = consume(stream, {
      next(value) {
        last = { value }
        return true
      },
      complete: () => resolve(last),
      error: reject,
      teardownFailed: reject
    })
    source.resume()
  })
}

/**
 * A stream whose values and failures are replaced on their way. A pulled stream stays pulled, and a pushed stream
 * stays pushed.
 */
import {
  consume,
  FEED,
  type Feed,
  isStreamOfValues,
  RpcError,
  type StreamSink,
  type StreamSource,
  ValueQueue,
  whenSettled
} from '@elysia-microservices/transport/kit'
import { isPromise } from '../hooks/promise.ts'

/** Returns the replacement of a value, or a promise of it. An error that it throws ends the stream. */
type MapValue = (value: unknown) => unknown
/**
 * Returns a last value that replaces a failure, a stream of last values, or a promise of either; `undefined` for no
 * such value. It may also throw.
 */
type MapFailure = (error: unknown) => unknown

/** Returns the stream with its values and failures replaced. */
export function mapStream(stream: object, onValue: MapValue, onFailure?: MapFailure): object {
  return 'subscribe' in stream
    ? new MappedObservable(stream, onValue, onFailure)
    : new MappedIterator(stream, onValue, onFailure)
}

/** The mapped stream as transports read it. The subclasses add the interfaces that hooks and handlers use. */
class MappedFeed implements Feed {
  readonly #source: object
  readonly #onValue: MapValue
  readonly #onFailure: MapFailure | undefined

  constructor(source: object, onValue: MapValue, onFailure: MapFailure | undefined) {
    this.#source = source
    this.#onValue = onValue
    this.#onFailure = onFailure
  }

  [FEED](sink: StreamSink): StreamSource {
    const mapping = new Mapping(sink, this.#onValue, this.#onFailure)
    mapping.start(this.#source)
    return mapping
  }
}

/** An Observable, for hooks that subscribe to results. It does not use rxjs, so a service need not load rxjs for it. */
class MappedObservable extends MappedFeed {
  readonly '@@observable' = () => this

  subscribe(observer: Partial<StreamSink> | ((value: unknown) => void)): { unsubscribe(): void } {
    const given: { next?(value: unknown): unknown } & Omit<Partial<StreamSink>, 'next'> =
      typeof observer === 'function' ? { next: observer } : observer
    const source = this[FEED]({
      next(value) {
        given.next?.(value)
        return true
      },
      complete: () => given.complete?.(),
      error: (error) => given.error?.(error),
      teardownFailed() {}
    })
    source.resume()
    return { unsubscribe: () => source.cancel() }
  }
}

/** An async iterator, for hooks and handlers that read values themselves. */
class MappedIterator extends MappedFeed implements AsyncIterableIterator<unknown> {
  readonly #queue: ValueQueue<unknown> = new ValueQueue({
    resume() {},
    cancel: () => this.#source?.cancel()
  })
  #source: StreamSource | undefined
  /** How many values have been requested and have not arrived yet. */
  #wanted = 0

  next(): Promise<IteratorResult<unknown>> {
    const isThere = this.#queue.size > 0
    const step = this.#queue.next()
    if (isThere) return step
    this.#wanted++
    this.#begin().resume()
    return step
  }

  return(): Promise<IteratorReturnResult<undefined>> {
    // The stream is begun so that it can be ended, even if nobody has read a value.
    this.#begin()
    return this.#queue.return()
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  #begin(): StreamSource {
    this.#source ??= this[FEED]({
      // The result tells the source whether more values are wanted, so that it makes no value before it is
      // requested.
      next: (value) => {
        this.#wanted = Math.max(0, this.#wanted - 1)
        this.#queue.push(value)
        return this.#wanted > 0
      },
      complete: () => this.#queue.end(),
      error: (error) => this.#queue.end({ error }),
      teardownFailed() {}
    })
    return this.#source
  }
}

/** Most values of an Observable that may wait until earlier values are mapped. */
const MOST_WAITING = 100_000

/** Maps values one after the other: values that arrive while a promise is awaited are mapped after it. */
class Mapping implements StreamSink, StreamSource {
  readonly #sink: StreamSink
  readonly #onValue: MapValue
  readonly #onFailure: MapFailure | undefined
  #behind: Promise<void> | undefined
  #source: StreamSource | undefined
  #hasEnded = false
  /** Number of values that wait for earlier ones. */
  #waiting = 0
  /** Whether the sink has asked for values. */
  #isAsked = false

  constructor(sink: StreamSink, onValue: MapValue, onFailure: MapFailure | undefined) {
    this.#sink = sink
    this.#onValue = onValue
    this.#onFailure = onFailure
  }

  start(stream: object): void {
    const source = consume(stream, this)
    if (this.#hasEnded) source.cancel()
    else this.#source = source
  }

  // ── calls from the sink ──────────────────────────────────────────────────────────────────────────────

  resume(): void {
    this.#isAsked = true
    if (this.#behind === undefined) this.#source?.resume()
  }

  cancel(): void {
    this.#hasEnded = true
    this.#source?.cancel()
  }

  // ── calls from the source ────────────────────────────────────────────────────────────────────────────

  next(value: unknown): boolean | undefined {
    if (this.#hasEnded) return undefined
    this.#isAsked = false
    const isWaiting = this.#behind !== undefined
    if (isWaiting && ++this.#waiting > MOST_WAITING) return this.#overflow()
    this.#inTurn(() => {
      if (isWaiting) this.#waiting--
      const mapped = this.#onValue(value)
      return isPromise(mapped) ? whenSettled(mapped, (awaited) => this.#pass(awaited)) : this.#pass(mapped)
    })
    return this.#hasEnded ? undefined : this.#isAsked && this.#behind === undefined
  }

  complete(): void {
    this.#inTurn(() => this.#end(() => this.#sink.complete()))
  }

  error(error: unknown): void {
    this.#inTurn(() => this.#fail(error))
  }

  teardownFailed(error: unknown): void {
    this.#sink.teardownFailed(error)
  }

  #inTurn(step: () => void | PromiseLike<void>): void {
    if (this.#hasEnded) return
    if (this.#behind === undefined) {
      const running = this.#run(step)
      if (running !== undefined) this.#waitFor(running)
    } else this.#waitFor(this.#behind.then(() => this.#run(step)))
  }

  #waitFor(running: Promise<void>): void {
    const behind = running.then(() => {
      if (this.#behind !== behind) return
      this.#behind = undefined
      if (this.#isAsked) this.#source?.resume()
    })
    this.#behind = behind
  }

  #run(step: () => void | PromiseLike<void>): Promise<void> | undefined {
    if (this.#hasEnded) return undefined
    const failed = (error: unknown) => {
      // The source does not know of this failure, so it is canceled here.
      this.#source?.cancel()
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
    if (!this.#hasEnded && this.#sink.next(value)) this.#isAsked = true
  }

  #fail(error: unknown): void | PromiseLike<void> {
    try {
      if (this.#onFailure === undefined) throw error
      const last = this.#onFailure(error)
      if (!isPromise(last)) return this.#last(last)
      return whenSettled(
        last,
        (value) => this.#last(value),
        (failure) => this.#end(() => this.#sink.error(failure))
      )
    } catch (failure) {
      this.#end(() => this.#sink.error(failure))
    }
  }

  #last(value: unknown): void {
    if (isStreamOfValues(value)) return this.#goOn(value)
    if (value !== undefined) this.#pass(value)
    this.#end(() => this.#sink.complete())
  }

  /** Goes on with the values of another stream, in place of those that the failed stream would have had. */
  #goOn(stream: object): void {
    if (this.#hasEnded) return
    const source = consume(stream, {
      next: (value, size) => {
        this.#isAsked = false
        if (!this.#hasEnded && this.#sink.next(value, size)) this.#isAsked = true
        return this.#isAsked
      },
      complete: () => this.#end(() => this.#sink.complete()),
      error: (error) => this.#end(() => this.#sink.error(error)),
      teardownFailed: (error) => this.#sink.teardownFailed(error)
    })
    if (this.#hasEnded) return source.cancel()
    this.#source = source
    if (this.#isAsked) source.resume()
  }

  /** An Observable that emits without a pause would fill the memory before the first value is mapped. */
  #overflow(): undefined {
    const message = `${MOST_WAITING} values of a stream wait for asynchronous checks or hooks; an Observable cannot be slowed, a generator can`
    this.#end(() => this.#sink.error(new RpcError({ code: 'STREAM_OVERFLOW', message })))
    this.#source?.cancel()
  }

  #end(say: () => void): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    say()
  }
}

/** Watches the result of a handler, or of a call of this library, while the result is passed on. */
import {
  consume,
  FEED,
  type Feed,
  isStream,
  isStreamOfValues,
  isThenable,
  type StreamSink,
  type StreamSource,
  whenSettled
} from './stream.ts'

/** The end of a result: it has completed, failed, or its reader has left. */
export type ResultEnd =
  | { readonly outcome: 'completed' }
  | { readonly outcome: 'failed'; readonly error: unknown }
  | { readonly outcome: 'canceled' }

/** Watches a result. */
export interface ResultWatcher {
  /** The result is a promise. */
  pending?(): void
  /** The promise has resolved or rejected. */
  settled?(): void
  /** The result is a stream, and a reader begins to take its values. */
  streaming?(): void
  /** A value is passed on: the only value, or one of a stream. */
  value?(value: unknown): void
  /** The result has failed. Returns the error that is passed on in place of this error. Default: the same error. */
  error?(error: unknown): unknown
  /**
   * Whether the reader has left already, so that it does not take a stream to which the promise resolves. Default: it
   * has not.
   */
  isLeft?(): boolean
  /** The result has ended. Called once; never for another stream that no reader begins to take. */
  ended(end: ResultEnd): void
  /** Runs a part of the user's code: a step of a generator, a subscription. Default: calls `work`. */
  run?<Result>(work: () => Result): Result
}

const COMPLETED: ResultEnd = { outcome: 'completed' }
const CANCELED: ResultEnd = { outcome: 'canceled' }

/**
 * Passes a result through and tells the watcher about its values and its end.
 * @example
 * ```ts
 * import { type Middleware, type ReceivedMessage, tap } from 'elysia-microservices'
 *
 * const logged: Middleware<ReceivedMessage> = (next) => (message) =>
 *   tap(next(message), { ended: ({ outcome }) => console.log(message.pattern, outcome) })
 * ```
 */
export function tap(result: unknown, watcher: ResultWatcher): unknown {
  if (typeof result !== 'object' || result === null) return passed(result, watcher)
  if (!isThenable(result)) return isStream(result) ? tappedStream(result, watcher) : passed(result, watcher)
  watcher.pending?.()
  return whenSettled(
    result,
    (value) => {
      watcher.settled?.()
      if (!isStreamOfValues(value)) return passed(value, watcher)
      if (watcher.isLeft?.() !== true) return tappedStream(value, watcher)
      watcher.ended(CANCELED)
      return value
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

/**
 * Watches a stream. If the watcher throws, the stream fails: its reader gets the error, and the stream is cleaned up.
 */
// A function and not a class, because bundlers remove an unused function.
function tappedStream(stream: object, watcher: ResultWatcher): Feed {
  return { [FEED]: (sink) => feed(stream, watcher, sink) }
}

function feed(stream: object, watcher: ResultWatcher, sink: StreamSink): StreamSource {
  const run = watcher.run?.bind(watcher) ?? (<Result>(work: () => Result) => work())
  let isOver = false
  let source: StreamSource | undefined
  const watcherThrew = (error: unknown) => {
    if (isOver) return sink.teardownFailed(error)
    isOver = true
    // `cancel` is called without `run`, because `run` itself may have thrown.
    source?.cancel()
    try {
      watcher.ended({ outcome: 'failed', error })
    } catch (another) {
      sink.teardownFailed(another)
    }
    sink.error(error)
  }
  const watched = (work: () => void) => {
    if (isOver) return
    try {
      run(work)
    } catch (error) {
      watcherThrew(error)
    }
  }
  watched(() => {
    watcher.streaming?.()
    source = consume(stream, {
      next(value, size) {
        if (isOver) return undefined
        try {
          watcher.value?.(value)
        } catch (error) {
          watcherThrew(error)
          return undefined
        }
        return sink.next(value, size)
      },
      complete() {
        if (isOver) return
        isOver = true
        try {
          watcher.ended(COMPLETED)
        } catch (error) {
          return sink.error(error)
        }
        sink.complete()
      },
      error(error) {
        if (isOver) return
        isOver = true
        let told = error
        try {
          watcher.ended({ outcome: 'failed', error })
          if (watcher.error !== undefined) told = watcher.error(error)
        } catch (thrown) {
          told = thrown
        }
        sink.error(told)
      },
      teardownFailed: (error) => sink.teardownFailed(error)
    })
    // The watcher has thrown at the first value of an Observable, before `consume` returned the source.
    if (isOver) source.cancel()
  })
  return {
    resume: () => watched(() => source?.resume()),
    request: (n) => source?.request?.(n),
    cancel() {
      if (isOver) return
      isOver = true
      try {
        run(() => source?.cancel())
      } catch (error) {
        source?.cancel()
        sink.teardownFailed(error)
      }
      try {
        watcher.ended(CANCELED)
      } catch (error) {
        sink.teardownFailed(error)
      }
    }
  }
}

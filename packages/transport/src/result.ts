/**
 * What a handler may return, beside a plain value: a promise, an Observable, an async iterable or an
 * iterator. This file tells them apart and feeds their values to a sink, whatever protocol is behind it.
 */

/** Takes the values of a stream. After `complete` or `error` it is called no more. */
export interface ResultSink {
  next(value: unknown): void
  complete(): void
  error(error: unknown): void
  /** `undefined` while more can be taken; else a promise for the moment when it can. */
  ready?(): Promise<void> | undefined
}

/** Ends a stream early: unsubscribes from an Observable, calls `return` of an iterator. */
export type Cancel = () => void

interface Subscribable {
  /** An Observable ignores `ready`; a subscribable of another kind may wait for it between values. */
  subscribe(observer: Required<ResultSink>): { unsubscribe(): void }
}

type AnyIterator = Iterator<unknown> | AsyncIterator<unknown>

/** A promise or another thenable. */
export function isThenable(value: object): value is PromiseLike<unknown> {
  return 'then' in value && typeof value.then === 'function'
}

/**
 * Whether a value is a stream of values. Observables (rxjs or alike), async iterables and iterators
 * (generators) are; arrays, strings, Maps and Sets are values, although they can be iterated.
 */
export function isStream(value: object): boolean {
  return isSubscribable(value) || isIteratorLike(value)
}

/**
 * Feeds a stream to a sink. Iterators are pulled one value at a time and only when the sink is ready;
 * an Observable cannot be slowed, unless it asks `ready` of its observer itself. The sink gets exactly one `complete` or `error`, unless cancelled.
 */
export function consume(stream: object, sink: ResultSink): Cancel {
  return isSubscribable(stream) ? subscribe(stream, sink) : pull(iteratorOf(stream), sink)
}

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

function iteratorOf(stream: object): AnyIterator {
  if (Symbol.asyncIterator in stream) return (stream as AsyncIterable<unknown>)[Symbol.asyncIterator]()
  return (stream as Iterable<unknown>)[Symbol.iterator]()
}

function subscribe(stream: Subscribable, sink: ResultSink): Cancel {
  let ended = false
  const subscription = stream.subscribe({
    next: (value) => {
      if (!ended) sink.next(value)
    },
    error: (error) => {
      if (ended) return
      ended = true
      sink.error(error)
    },
    complete: () => {
      if (ended) return
      ended = true
      sink.complete()
    },
    ready: () => sink.ready?.()
  })
  return () => {
    ended = true
    subscription.unsubscribe()
  }
}

function pull(iterator: AnyIterator, sink: ResultSink): Cancel {
  let cancelled = false
  const run = async () => {
    try {
      while (!cancelled) {
        const blocked = sink.ready?.()
        if (blocked !== undefined) await blocked
        if (cancelled) return
        const step = await iterator.next()
        if (cancelled) return
        if (step.done === true) return sink.complete()
        sink.next(step.value)
      }
    } catch (error) {
      if (!cancelled) sink.error(error)
    }
  }
  void run()
  return () => {
    if (cancelled) return
    cancelled = true
    // A generator that is running finishes its current step first; its failure concerns nobody any more.
    try {
      const returned = iterator.return?.()
      if (returned !== undefined && isThenable(returned)) returned.then(undefined, () => {})
    } catch {}
  }
}

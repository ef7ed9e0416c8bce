/** Counts the work of a dispatcher from its beginning to its end. Only servers with a limit pay for it. */
import type { Dispatcher, IncomingMessage } from '../dispatch.ts'
import { consume, isStream, isThenable, type ResultSink } from '../result.ts'

/** Who is told of work that takes more than a turn. */
export interface WorkCounter {
  /** A request or an event has not ended in the turn it came. */
  began(): void
  /** It has ended. */
  ended(): void
  /** A stream of values has begun. */
  streamBegan(): void
  /** It is over, or nobody takes it any more. */
  streamEnded(): void
}

/** Hands messages on and counts what becomes of them. */
export class CountingDispatcher implements Dispatcher {
  readonly #inner: Dispatcher
  readonly #counter: WorkCounter

  constructor(inner: Dispatcher, counter: WorkCounter) {
    this.#inner = inner
    this.#counter = counter
  }

  request(message: IncomingMessage): unknown {
    const result = this.#inner.request(message)
    if (typeof result !== 'object' || result === null || !isThenable(result)) return this.#counted(result)
    this.#counter.began()
    return result.then(
      (value) => {
        this.#counter.ended()
        return this.#counted(value)
      },
      (error: unknown) => {
        this.#counter.ended()
        throw error
      }
    )
  }

  event(message: IncomingMessage): void | Promise<void> {
    const running = this.#inner.event(message)
    if (running === undefined) return
    this.#counter.began()
    return running.finally(() => this.#counter.ended())
  }

  #counted(value: unknown): unknown {
    if (typeof value !== 'object' || value === null || !isStream(value)) return value
    return new CountedStream(value, this.#counter)
  }
}

/** A stream that is counted while it is taken. */
class CountedStream {
  /** Says that this is subscribable, to those who do not know rxjs. */
  readonly '@@observable' = true
  readonly #stream: object
  readonly #counter: WorkCounter

  constructor(stream: object, counter: WorkCounter) {
    this.#stream = stream
    this.#counter = counter
  }

  subscribe(sink: ResultSink): { unsubscribe(): void } {
    let isOver = false
    const over = () => {
      if (isOver) return
      isOver = true
      this.#counter.streamEnded()
    }
    this.#counter.streamBegan()
    try {
      const cancel = consume(this.#stream, {
        next: (value) => sink.next(value),
        complete: () => {
          over()
          sink.complete()
        },
        error: (error) => {
          over()
          sink.error(error)
        },
        ready: () => sink.ready?.()
      })
      const unsubscribe = () => {
        over()
        cancel()
      }
      return { unsubscribe }
    } catch (error) {
      over()
      throw error
    }
  }
}

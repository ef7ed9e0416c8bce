/**
 * The stream of a handler, as the transport takes it. Nest's exception filters have already turned its errors into
 * what the caller gets, so they cross the wire as they are.
 */
import { AsyncResource } from 'node:async_hooks'
import {
  consume,
  ErrorAnswer,
  FEED,
  type Feed,
  isStreamOfValues,
  type StreamSink,
  type StreamSource
} from '@elysia-microservices/transport/kit'
import { type ArgumentsHost, Logger } from '@nestjs/common'
import { BaseRpcExceptionFilter } from '@nestjs/microservices'
import { catchError, concatMap, isObservable, Observable, of, throwError } from 'rxjs'

const filter = new BaseRpcExceptionFilter()
/** Has the name under which Nest reports what its filters do not tell the caller. */
const logger = new Logger('RpcExceptionsHandler')
/** Nest's default filter does not look at it. */
const NO_HOST = undefined as unknown as ArgumentsHost

/** The answer, by Nest's default rules, for an error that passed no filter: a generator or a filter threw it. */
export function answerOfUnfiltered(error: unknown): ErrorAnswer {
  if (error instanceof ErrorAnswer) return error
  let answer: unknown
  filter.catch(error, NO_HOST).subscribe({
    error: (value: unknown) => {
      answer = value
    }
  })
  return new ErrorAnswer(answer)
}

/**
 * An error that Nest's filters have let through: the caller gets it as it is. An `Error` without own fields is `{}`
 * to it, as in Nest, so it is logged: a filter that fails would otherwise leave no trace.
 */
function answerOfFiltered(error: unknown): ErrorAnswer {
  if (error instanceof Error && Object.keys(error).length === 0) logger.error(error)
  return new ErrorAnswer(error)
}

/** The stream a handler gave, as the transport takes it. */
export class HandlerStream implements Feed {
  readonly #stream: object
  readonly #unfiltered: (error: unknown) => unknown
  readonly #ended: (() => void) | undefined
  /** The async context of the hooks: handlers behind interceptors run only when they are subscribed to. */
  readonly #scope: AsyncResource | undefined

  /**
   * @param unfiltered turns an error that Nest's filters have not seen into what the caller gets
   * @param ended is called when the stream is over, however it ended; with it, the stream runs in the async context of this call
   */
  constructor(stream: object, unfiltered: (error: unknown) => unknown, ended?: () => void) {
    this.#stream = stream
    this.#unfiltered = unfiltered
    this.#ended = ended
    if (ended !== undefined) this.#scope = new AsyncResource('MicroserviceMessage')
  }

  [FEED](sink: StreamSink): StreamSource {
    const scope = this.#scope
    const run = <Result>(work: () => Result): Result =>
      scope === undefined ? work() : scope.runInAsyncScope(work)
    const source = run(() => this.#consume(this.#withEnd(sink)))
    return {
      resume: () => run(() => source.resume()),
      cancel: () => {
        run(() => source.cancel())
        this.#ended?.()
      }
    }
  }

  /** The same sink, and the end of the hooks when the stream has ended. */
  #withEnd(sink: StreamSink): StreamSink {
    const ended = this.#ended
    if (ended === undefined) return sink
    return {
      next: (value) => sink.next(value),
      complete() {
        ended()
        sink.complete()
      },
      error(error) {
        ended()
        sink.error(error)
      },
      teardownFailed: (error) => sink.teardownFailed(error)
    }
  }

  #consume(sink: StreamSink): StreamSource {
    const stream = this.#stream
    const unfiltered = { ...bound(sink), error: (error: unknown) => sink.error(this.#unfiltered(error)) }
    if (!isObservable(stream)) return consume(stream, unfiltered)
    // Interceptors get a generator as one value of their Observable: it is pulled as the caller takes its values.
    let pulled: StreamSource | undefined
    const values = stream.pipe(
      catchError((error) => throwError(() => answerOfFiltered(error))),
      concatMap((value) =>
        isStreamOfValues(value)
          ? new Observable((subscriber) => {
              const inner = consume(value, {
                ...bound(sink),
                complete: () => subscriber.complete(),
                error: (error) => subscriber.error(this.#unfiltered(error))
              })
              pulled = inner
              inner.resume()
              return () => inner.cancel()
            })
          : of(value)
      )
    )
    const subscribed = consume(values, sink)
    return {
      resume: () => pulled?.resume(),
      cancel: () => subscribed.cancel()
    }
  }
}

function bound(sink: StreamSink): StreamSink {
  return {
    next: (value) => sink.next(value),
    complete: () => sink.complete(),
    error: (error) => sink.error(error),
    teardownFailed: (error) => sink.teardownFailed(error)
  }
}

/**
 * The stream of a handler in the form that the transport needs. Nest's exception filters have already turned its errors
 * into the value for the caller, so the errors are sent unchanged.
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
/** A logger with the name under which Nest logs errors that its filters do not send to the caller. */
const logger = new Logger('RpcExceptionsHandler')
/** The value that is passed as the host, which Nest's default filter does not read. */
const NO_HOST = undefined as unknown as ArgumentsHost

/**
 * Makes the answer, by Nest's default rules, for an error that has passed no filter: a generator or a filter has thrown
 * it.
 */
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
 * Makes the answer for an error that Nest's filters did not change: the caller gets the error unchanged. An `Error`
 * without own fields is sent as `{}`, as in Nest, so it is logged: the error of a filter that fails would otherwise be
 * lost.
 */
function answerOfFiltered(error: unknown): ErrorAnswer {
  if (error instanceof Error && Object.keys(error).length === 0) logger.error(error)
  return new ErrorAnswer(error)
}

/** The stream of a handler, in the form that the transport needs. */
export class HandlerStream implements Feed {
  readonly #stream: object
  readonly #unfiltered: (error: unknown) => unknown
  readonly #ended: (() => void) | undefined
  /**
   * The async context of the processing hooks, because handlers behind interceptors run only when they are subscribed
   * to.
   */
  readonly #scope: AsyncResource | undefined

  /**
   * @param unfiltered turns an error that Nest's filters have not seen into the value for the caller
   * @param ended is called when the stream has ended, in whatever way; if it is set, the stream runs in the async
   * context of this call
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

  /** Wraps the sink so that the end hook runs when the stream has ended. */
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
    // Behind interceptors, a generator is one value of an Observable: its values are pulled as the caller takes them.
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

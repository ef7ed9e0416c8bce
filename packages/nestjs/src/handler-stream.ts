/**
 * From what a handler gave to what the transport takes. By then Nest's exception filters have turned errors
 * into what the caller gets, so they cross the wire as they are.
 */
import { AsyncResource } from 'node:async_hooks'
import { consume, ErrorAnswer, isStream, type ResultSink } from '@elysia-microservices/transport'
import { type ArgumentsHost, Logger } from '@nestjs/common'
import { BaseRpcExceptionFilter } from '@nestjs/microservices'
import { catchError, concatMap, finalize, isObservable, Observable, of, throwError } from 'rxjs'

const filter = new BaseRpcExceptionFilter()
/** By the name under which Nest reports what its filters cannot tell the caller. */
const logger = new Logger('RpcExceptionsHandler')
/** Nest's default filter does not look at it. */
const NO_HOST = undefined as unknown as ArgumentsHost

/** An error that passed no filter of Nest (a generator threw it, or a filter did) by Nest's default rules. */
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
 * An error that Nest's filters have let through: the caller gets it as it is. An `Error` without own fields is
 * `{}` to it, as in Nest; so that it does not get lost with a filter that fails, it is logged.
 */
function answerOfFiltered(error: unknown): ErrorAnswer {
  if (error instanceof Error && Object.keys(error).length === 0) logger.error(error)
  return new ErrorAnswer(error)
}

/** Whether a result is many values: an Observable, a generator, another (async) iterator. */
export function isStreamOfValues(result: unknown): result is object {
  return typeof result === 'object' && result !== null && isStream(result)
}

/** The stream a handler gave, as the transport can subscribe to it. */
export class HandlerStream {
  /** Says that this is subscribable, to those who do not know rxjs. */
  readonly '@@observable' = true
  readonly #stream: object
  readonly #unfiltered: (error: unknown) => ErrorAnswer
  readonly #ended: (() => void) | undefined
  /** Handlers behind interceptors first run when they are subscribed to: in the async context of the hooks. */
  readonly #scope: AsyncResource | undefined

  /**
   * @param unfiltered what becomes of an error that Nest's filters have not seen
   * @param ended is called when the stream is over, however it ended; the stream runs in the async context of now
   */
  constructor(stream: object, unfiltered: (error: unknown) => ErrorAnswer, ended?: () => void) {
    this.#stream = stream
    this.#unfiltered = unfiltered
    this.#ended = ended
    if (ended !== undefined) this.#scope = new AsyncResource('MicroserviceMessage')
  }

  subscribe(sink: ResultSink): { unsubscribe(): void } {
    const values = this.#values(sink)
    const ended = this.#ended
    if (this.#scope === undefined || ended === undefined) return values.subscribe(sink)
    return this.#scope.runInAsyncScope(() => values.pipe(finalize(ended)).subscribe(sink))
  }

  #values(sink: ResultSink): Observable<unknown> {
    const stream = this.#stream
    if (!isObservable(stream)) return this.#pulled(stream, sink)
    return stream.pipe(
      catchError((error) => throwError(() => answerOfFiltered(error))),
      // Interceptors get a generator as one value of their Observable.
      concatMap((value) => (isStreamOfValues(value) ? this.#pulled(value, sink) : of(value)))
    )
  }

  /** A generator's values, each asked for when the caller takes it: an Observable cannot be slowed, this can. */
  #pulled(stream: object, sink: ResultSink): Observable<unknown> {
    return new Observable((subscriber) =>
      consume(stream, {
        next: (value) => subscriber.next(value),
        complete: () => subscriber.complete(),
        error: (error) => subscriber.error(this.#unfiltered(error)),
        ready: () => sink.ready?.()
      })
    )
  }
}

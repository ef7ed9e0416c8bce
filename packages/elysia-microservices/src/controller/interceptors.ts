/** Runs Nest's interceptors around a call, the first one outermost. */
import { AsyncResource } from 'node:async_hooks'
import { isStreamOfValues, type Logger } from '@elysia-microservices/transport/kit'
import { defer, mergeAll, Observable, type ObservableInput } from 'rxjs'
import type { Interceptor } from './enhancer.ts'
import type { RpcExecutionContext } from './execution-context.ts'
import { Demand, feedSubscriber, type Slowable } from './feed-subscriber.ts'

/** Runs interceptors; the innermost `handle()` makes the call. Returns the values for the caller. */
export function intercept(
  interceptors: readonly Interceptor[],
  context: RpcExecutionContext,
  call: () => Promise<unknown>,
  logger: Logger
): Slowable {
  const demand = new Demand()
  const from = async (index: number): Promise<ObservableInput<unknown>> => {
    const interceptor = interceptors[index]
    if (interceptor === undefined) return defer(inThisScope(() => streamOf(call(), demand, logger)))
    const next = { handle: () => defer(inThisScope(() => from(index + 1))).pipe(mergeAll()) }
    return interceptor.intercept(context as never, next as never) as ObservableInput<unknown>
  }
  return demand.over(defer(() => from(0)).pipe(mergeAll()), logger)
}

/**
 * A handler's result as an Observable. Unsubscribing cancels the stream that the handler returned; a stream that
 * the handler returns after that is not started.
 */
export function streamOf(result: Promise<unknown>, demand: Demand, logger: Logger): Observable<unknown> {
  return new Observable((subscriber) => {
    let cancel: (() => void) | undefined
    result
      .then((value) => {
        if (subscriber.closed) return
        if (isStreamOfValues(value)) {
          cancel = feedSubscriber(value, subscriber, demand, logger)
          // The reader may have left at the first value, before there was a function to cancel the stream.
          if (subscriber.closed) cancel()
          return
        }
        subscriber.next(value)
        subscriber.complete()
      })
      // The result has rejected, or a getter of the result has thrown while it was read.
      .catch((error: unknown) => subscriber.error(error))
    return () => cancel?.()
  })
}

/**
 * Runs a function later in the asynchronous scope of now. The handler runs only when the Observable is subscribed,
 * but it must still see what an interceptor has put into an `AsyncLocalStorage` around `next.handle()`.
 */
function inThisScope<Result>(run: () => Result): () => Result {
  const scope = new AsyncResource('Interceptor')
  return () => scope.runInAsyncScope(run)
}

/** Nest's pre-request hooks, which stand around the guards and everything behind them. */
import { AsyncResource } from 'node:async_hooks'
import { type Logger, whenSettled } from '@elysia-microservices/transport/kit'
import { defer, from, isObservable, mergeAll, Observable, of } from 'rxjs'
import { isPromise } from '../hooks/promise.ts'
import type { PreRequestHook } from './enhancer.ts'
import type { RpcExecutionContext } from './execution-context.ts'
import { streamOf } from './interceptors.ts'

/**
 * Runs hooks, the first one outermost, around a call. Each message has an asynchronous scope of its own, so that
 * `enterWith` of an `AsyncLocalStorage` reaches its handler and no other message.
 */
export function runPreRequestHooks(
  hooks: readonly PreRequestHook[],
  context: RpcExecutionContext,
  call: () => Promise<unknown>,
  logger: Logger
): Observable<unknown> {
  return new Observable((subscriber) => {
    let index = 0
    // As in Nest, `next` gives a hook what the next one returns, and each is called once.
    const next = (): unknown => {
      const hook = hooks[index++]
      return hook === undefined
        ? defer(() => streamOf(call(), logger))
        : hook(context as never, next as never)
    }
    const scope = new AsyncResource('PreRequestHook')
    return scope.runInAsyncScope(() => observableOf(next()).subscribe(subscriber))
  })
}

/** The first hook may be an async function, or answer with a plain value. */
function observableOf(result: unknown): Observable<unknown> {
  if (isObservable(result)) return from(result)
  if (isPromise(result)) return from(whenSettled(result, observableOf)).pipe(mergeAll())
  return of(result)
}

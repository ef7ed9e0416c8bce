/** Nest's pre-request hooks, which run around the guards and all later stages. */
import { AsyncResource } from 'node:async_hooks'
import { type Logger, whenSettled } from '@elysia-microservices/transport/kit'
import { defer, from, isObservable, mergeAll, Observable, of } from 'rxjs'
import { isPromise } from '../hooks/promise.ts'
import type { PreRequestHook } from './enhancer.ts'
import type { RpcExecutionContext } from './execution-context.ts'
import { Demand, type Slowable } from './feed-subscriber.ts'
import { streamOf } from './interceptors.ts'

/**
 * Runs hooks around a call, the first hook outermost. Each message has its own asynchronous scope, so that a hook's
 * `enterWith` of an `AsyncLocalStorage` reaches the handler of this message only.
 */
export function runPreRequestHooks(
  hooks: readonly PreRequestHook[],
  context: RpcExecutionContext,
  call: () => Promise<unknown>,
  logger: Logger
): Slowable {
  const demand = new Demand()
  const values = new Observable((subscriber) => {
    let index = 0
    // As in Nest, `next` returns the result of the next hook, and each hook is called once.
    const next = (): unknown => {
      const hook = hooks[index++]
      return hook === undefined
        ? defer(() => streamOf(call(), demand, logger))
        : hook(context as never, next as never)
    }
    const scope = new AsyncResource('PreRequestHook')
    return scope.runInAsyncScope(() => observableOf(next(), context).subscribe(subscriber))
  })
  return demand.over(values, logger)
}

/** The result of a hook as an Observable: the first hook may be an async function, or return a plain value. */
function observableOf(result: unknown, context: RpcExecutionContext): Observable<unknown> {
  if (isObservable(result)) return from(result)
  if (isPromise(result))
    return from(whenSettled(result, (value) => observableOf(value, context))).pipe(mergeAll())
  // In Nest, nothing is an answer, too. But the handler has not run, so a stored event must not count as handled.
  if (result === undefined && context.switchToRpc().getContext().message.delivery !== undefined)
    throw new Error('A pre-request hook has returned nothing, so the handler has not run: return next()')
  return of(result)
}

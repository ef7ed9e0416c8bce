/**
 * The answer to a request whose pattern has event handlers only. Nest answers it: with the result of the one
 * handler, or with the results of all, each nested in the one before.
 */
import { consume, type IncomingMessage, isStream, isThenable } from '@elysia-microservices/transport'
import { forkJoin, from, mergeMap, Observable, of, throwError } from 'rxjs'

type EventHandler = (message: IncomingMessage) => unknown

/** Calls all handlers; one result as it is, several as `{ current, next: { current, next: … } }`. */
export function answerByEventHandlers(handlers: readonly EventHandler[], message: IncomingMessage): unknown {
  const [handler, ...others] = handlers
  if (handler === undefined) return undefined
  if (others.length === 0) return handler(message)
  return forkJoin({
    current: resultOf(() => handler(message)),
    next: resultOf(() => answerByEventHandlers(others, message))
  })
}

/** Calls at once, as all handlers of an event are, and gives what came of it as an Observable. */
function resultOf(call: () => unknown): Observable<unknown> {
  try {
    return toObservable(call())
  } catch (error) {
    return throwError(() => error)
  }
}

function toObservable(result: unknown): Observable<unknown> {
  if (typeof result !== 'object' || result === null) return of(result)
  if (isThenable(result)) return from(Promise.resolve(result)).pipe(mergeMap(toObservable))
  if (isStream(result)) return new Observable((subscriber) => consume(result, subscriber))
  return of(result)
}

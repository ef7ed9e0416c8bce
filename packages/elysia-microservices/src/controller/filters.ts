/** Nest's exception filters: which filter answers an error, and what its answer means. */
import {
  ErrorAnswer,
  type Logger,
  OptionError,
  shown,
  whenSettled
} from '@elysia-microservices/transport/kit'
import { catchError, from, isObservable, tap, throwError } from 'rxjs'
import { isPromise } from '../hooks/promise.ts'
import type { Filter } from './enhancer.ts'
import { type AnyClass, RpcExecutionContext } from './execution-context.ts'
import { METADATA } from './metadata.ts'
import type { Arguments } from './parameters.ts'

/** Nest's class of errors for callers, from the user's copy of Nest. */
export type RpcExceptionClass = new (error: string) => Error

/** Turns an error into an answer, or throws it. The answer may be an Observable, or a promise of one. */
export type Fail = (error: unknown, args: Arguments) => unknown

const FORBIDDEN = 'Forbidden resource'

/** The error of a guard that refuses a call, if no filter answers it: like Nest's `RpcException`, with a code. */
class ForbiddenError extends Error {
  override readonly name = 'ForbiddenError'

  getError(): object {
    return { status: 'error', code: 'FORBIDDEN', message: this.message }
  }
}

/** Refusals that are instances of the user's `RpcException`, so that filters can catch them. */
const refusals = new WeakSet<object>()

/** The function that runs the filters, from the last to the first as in Nest; `undefined` without filters. */
export function failureBy(filters: readonly Filter[], logger: Logger): Fail | undefined {
  if (filters.length === 0) return undefined
  const lastFirst = [...filters].reverse().map((filter) => ({ filter, types: caughtBy(filter) }))
  return (error, args) => {
    const found = lastFirst.find(({ types }) => catches(types, error))
    const unhandled = () => (refusals.has(Object(error)) ? new ForbiddenError(FORBIDDEN) : error)
    if (found === undefined) throw unhandled()
    const given = found.filter.catch(error, new RpcExecutionContext(args) as never)
    // As in Nest, a filter that returns nothing has not handled the error.
    if (!given) throw unhandled()
    const answer = asAnswer(given, unhandled)
    // Over gRPC there is metadata in place of the context, and nothing is stored.
    const message = args[1]?.message
    if (message?.delivery === undefined) return answer
    const { name } = found.filter.constructor
    return whenAnswered(answer, () =>
      logger.warn(
        `The filter ${name} has answered the failure of the durable event '${shown(message.pattern)}', so the event counts as handled: it is acknowledged and not delivered again. To let the event fail, the filter has to throw, or return throwError(…)`,
        error
      )
    )
  }
}

/**
 * Returns a function that makes the error of a guard that refuses a call. Filters test for `instanceof
 * RpcException`, so the error must be of the user's own class if there are filters.
 * @throws {OptionError} there are filters, and the user's class is unknown
 */
export function refusalFor(
  where: string,
  filters: readonly Filter[],
  known: RpcExceptionClass | undefined
): () => Error {
  if (filters.length === 0) return () => new ForbiddenError(FORBIDDEN)
  if (known !== undefined) {
    return () => {
      const refusal = new known(FORBIDDEN)
      refusals.add(refusal)
      return refusal
    }
  }
  const refused = new ForbiddenError(FORBIDDEN)
  const seeing = filters.find((filter) => catches(caughtBy(filter), refused))
  if (seeing !== undefined) {
    throw new OptionError(
      'options.nest.RpcException',
      `${where} has a filter ${seeing.constructor.name} that catches refusals of guards: set options.nest.RpcException to the class RpcException of @nestjs/microservices, so that the filter gets an instance of it`
    )
  }
  return () => new ForbiddenError(FORBIDDEN)
}

/** The user's `RpcException`, if a filter catches this class or a subclass of it. */
export function rpcExceptionIn(filters: readonly Filter[]): RpcExceptionClass | undefined {
  for (const type of filters.flatMap(caughtBy)) {
    for (let parent: unknown = type; typeof parent === 'function'; parent = Object.getPrototypeOf(parent)) {
      if (parent.name === 'RpcException' && typeof parent.prototype?.getError === 'function')
        return parent as RpcExceptionClass
    }
  }
  return undefined
}

function caughtBy(filter: Filter): readonly AnyClass[] {
  const target = Object.getPrototypeOf(filter) as object | null
  const found: unknown =
    (target === null ? undefined : Reflect.getMetadata(METADATA.caught, target)) ??
    Reflect.getMetadata(METADATA.caught, filter.constructor)
  return (found as readonly AnyClass[] | undefined) ?? []
}

function catches(types: readonly AnyClass[], error: unknown): boolean {
  return types.length === 0 || types.some((type) => error instanceof type)
}

/** Returns the same answer, and calls `ended` when the answer has ended without an error. */
function whenAnswered(answer: unknown, ended: () => void): unknown {
  if (isPromise(answer)) return whenSettled(answer, (given) => whenAnswered(given, ended))
  if (isObservable(answer)) return from(answer).pipe(tap({ complete: ended }))
  ended()
  return answer
}

/**
 * Passes the error of a filter's Observable to the caller, as Nest does. Nest also takes a promise of nothing for an
 * answer; here it has not handled the error, so that a filter that only writes to a log makes no failure a success.
 */
function asAnswer(answer: unknown, unhandled: () => unknown): unknown {
  if (isPromise(answer))
    return whenSettled(answer, (given) => {
      if (given === undefined) throw unhandled()
      return asAnswer(given, unhandled)
    })
  if (!isObservable(answer)) return answer
  return from(answer).pipe(catchError((value) => throwError(() => new ErrorAnswer(forCallers(value)))))
}

/** JSON has the own fields of an `Error`. gRPC would also send the words, which nobody has made for callers. */
function forCallers(value: unknown): unknown {
  return value instanceof Error && !('code' in value) ? { ...value } : value
}

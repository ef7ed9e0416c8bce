/** Tells promises from other values. */
import { isThenable, whenSettled } from '@elysia-microservices/transport/kit'

/** Whether a value is a promise, or another thenable. */
export function isPromise(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && isThenable(value)
}

/** Goes on with a value: at once, or when the promise of it has settled. A thenable of the user's calls back once. */
export function whenThere(value: unknown, next: (value: unknown) => unknown): unknown {
  return isPromise(value) ? whenSettled(value, next) : next(value)
}

/** Distinguishes promises from other values. */
import { isThenable, whenSettled } from '@elysia-microservices/transport/kit'

/** Whether a value is a promise or another thenable. */
export function isPromise(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && isThenable(value)
}

/**
 * Calls `next` with a value: at once, or when the value's promise has settled. Even a faulty thenable of the user
 * can cause only one call.
 */
export function whenThere(value: unknown, next: (value: unknown) => unknown): unknown {
  return isPromise(value) ? whenSettled(value, next) : next(value)
}

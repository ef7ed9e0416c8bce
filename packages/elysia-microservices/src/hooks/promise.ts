/** Tells promises from other values. */
import { isThenable } from '@elysia-microservices/transport/kit'

/** Whether a value is a promise, or another thenable. */
export function isPromise(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && isThenable(value)
}

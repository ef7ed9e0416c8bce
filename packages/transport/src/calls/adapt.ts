/** Changes the options of calls before they are made: for `headers`, `with()`, `inherit`, `forward` and `idempotent`. */
import type { Caller, CallOptions } from '../call.ts'
import type { DurableCaller, PublishOptions } from '../durable/published.ts'
import { unsendable } from '../errors/index.ts'
import type { Pattern } from '../pattern.ts'
import { NO_CALL } from './pending-caller.ts'

/**
 * Returns the options with which a call is made.
 * @param asked the pattern of a request or stream; `undefined` for an event
 */
export type Adapt = (options: CallOptions | undefined, asked?: Pattern) => CallOptions | undefined

/** One after the other; `undefined` if there are none. */
export function inTurn(adapts: readonly (Adapt | undefined)[]): Adapt | undefined {
  const given = adapts.filter((adapt) => adapt !== undefined)
  if (given.length < 2) return given[0]
  return (options, asked) =>
    given.reduce((changed: CallOptions | undefined, adapt) => adapt(changed, asked), options)
}

/** A caller whose options are changed. Without a change it returns the caller itself. */
export function adaptedCaller(caller: Caller, adapt: Adapt | undefined): Caller {
  if (adapt === undefined) return caller
  return {
    request: async (pattern, data, options) => caller.request(pattern, data, adapt(options, pattern)),
    emit: async (pattern, data, options) => caller.emit(pattern, data, adapt(options)),
    stream(pattern, data, receiver, options) {
      try {
        options = adapt(options, pattern)
      } catch (error) {
        receiver.error(unsendable(error))
        return NO_CALL
      }
      return caller.stream(pattern, data, receiver, options)
    }
  }
}

/** Publishing with changed options. Without a change it returns the function itself. */
export function adaptedPublish(
  publish: DurableCaller['publish'],
  adapt: Adapt | undefined
): DurableCaller['publish'] {
  if (adapt === undefined) return publish
  return async (pattern, data, options) => publish(pattern, data, adapt(options) as PublishOptions)
}

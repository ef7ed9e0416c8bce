/** The options of a call that is made while a message is handled: it has what is left of that message's time. */
import type { CallOptions } from '../call.ts'
import { TimeoutError } from '../errors/index.ts'
import { type Pattern, routeOf } from '../pattern.ts'

/**
 * Options without `within`, with its deadline and signal.
 * @param timeout milliseconds for a call that says nothing else; 0 for no limit
 * @throws {TimeoutError} the message's time is over
 */
export function inheritedOptions<Options extends CallOptions>(
  pattern: Pattern,
  { within, ...options }: Options,
  timeout: number
): Options {
  if (within === undefined) return options as Options
  const own = options.timeout ?? timeout
  const { remaining } = within
  if (remaining !== undefined && remaining <= 0) {
    const name = routeOf(pattern)
    throw new TimeoutError(name, 0, false, `'${name}' was not called: the message's own time is over`)
  }
  // The signal of an event never aborts.
  const outer = within.kind === 'event' ? undefined : within.signal
  const signals = [options.signal, outer].filter((signal) => signal !== undefined && signal !== null)
  return {
    ...options,
    // Told to the other side only where there is something to tell.
    ...(remaining === undefined ? {} : { timeout: own === 0 ? remaining : Math.min(own, remaining) }),
    ...(signals.length === 0 ? {} : { signal: signals.length === 1 ? signals[0] : AbortSignal.any(signals) })
  } as Options
}

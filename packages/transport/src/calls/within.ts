/** Options of a call made with `within`: the call gets no more than the remaining time of the handled message. */
import type { CallOptions } from '../call.ts'
import { OptionError, TimeoutError } from '../errors/index.ts'
import { type Pattern, routeOf } from '../pattern.ts'

/** @throws {OptionError} it is no message */
export function checkWithin(within: unknown): void {
  if (within !== undefined && (typeof within !== 'object' || within === null))
    throw OptionError.expected(
      'options.within',
      'the message that is handled, the argument of a handler',
      within
    )
}

/**
 * Replaces the option `within` by the timeout and the signal of the handled message.
 * @param timeout milliseconds for a call without its own timeout; 0 for no limit
 * @throws {TimeoutError} the message has no time left
 */
export function inheritedOptions<Options extends CallOptions>(
  pattern: Pattern,
  { within, ...options }: Options,
  timeout: number
): Options {
  if (within === undefined) return options as Options
  checkWithin(within)
  const own = options.timeout ?? timeout
  const { remaining } = within
  if (remaining !== undefined && remaining <= 0) {
    const name = routeOf(pattern)
    throw new TimeoutError(
      name,
      0,
      false,
      `'${name}' was not called: the message that is being handled has no time left`
    )
  }
  // The signal of an event never aborts.
  const outer = within.kind === 'event' ? undefined : within.signal
  const signals = [options.signal, outer].filter((signal) => signal !== undefined && signal !== null)
  return {
    ...options,
    // The timeout is set only if the message has a limit, because a timeout is also sent to the other side.
    ...(remaining === undefined ? {} : { timeout: own ? Math.min(own, remaining) : remaining }),
    ...(signals.length === 0 ? {} : { signal: signals.length === 1 ? signals[0] : AbortSignal.any(signals) })
  } as Options
}

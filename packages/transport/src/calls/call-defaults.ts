/** The options that a client, or `client.with()`, gives to each call. */
import type { CallOptions, HandledMessage } from '../call.ts'
import { OptionError } from '../errors/index.ts'
import type { MessageHeaders } from '../headers.ts'
import { checkNames, checkTimes, withoutUndefined } from '../options.ts'
import type { Adapt } from './adapt.ts'
import { checkHeaders, checkSignal } from './pending-call.ts'
import { checkWithin } from './within.ts'

/** Options that `client.with()` gives to all calls which it makes. Options of a call take precedence. */
export interface CallDefaults {
  /** Headers, or a function that returns them for each call. Headers of a call are added, and take precedence. */
  readonly headers?: MessageHeaders | (() => MessageHeaders) | undefined
  /** Milliseconds until the answer or its first value; see {@link CallOptions}. */
  readonly timeout?: number | false | undefined
  /** The message in whose handler the calls are made; see {@link CallOptions}. */
  readonly within?: HandledMessage | undefined
  /** Cancels the calls when the signal aborts. */
  readonly signal?: AbortSignal | null | undefined
}

/**
 * Gives the options to each call; options of the call take precedence, and its headers are added. Each call says what is
 * wrong with them; `checkedDefaults` says it earlier, and is too large for pages.
 */
export function defaulting({ headers, ...given }: CallDefaults): Adapt {
  return (options = {}) => ({
    ...given,
    ...withoutUndefined(options),
    headers: { ...(typeof headers === 'function' ? headers() : headers), ...options.headers }
  })
}

/** Checks the options, and lets a function for headers check what it returns. @throws {OptionError} an option is invalid */
export function checkedDefaults(given: CallDefaults): CallDefaults {
  checkNames('options', given, ['headers', 'timeout', 'within', 'signal'])
  const { headers, timeout, signal, within } = given
  checkTimes({ timeout })
  checkSignal(signal)
  checkWithin(within)
  if (typeof headers === 'function') return { ...given, headers: () => checkedTexts(headers()) }
  return headers === undefined ? given : { ...given, headers: { ...checkedTexts(headers) } }
}

function checkedTexts(headers: MessageHeaders): MessageHeaders {
  if (headers instanceof Promise || Array.isArray(headers))
    throw OptionError.expected(
      'options.headers',
      'an object of texts, or a function that returns one at once',
      headers
    )
  checkHeaders(headers)
  return headers
}

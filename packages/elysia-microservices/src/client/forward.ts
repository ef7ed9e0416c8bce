/** Copies headers of the handled message to calls made `within` that message. */
import {
  type Adapt,
  type CallOptions,
  type HandledMessage,
  type MessageHeaders,
  OptionError,
  RESERVED_PREFIX
} from '@elysia-microservices/transport/kit'
import { SENT_HEADERS } from '../types/message.ts'

/** Checks the option `forward`. @throws {OptionError} it is not a list of header names */
export function checkForward(given: unknown): asserts given is readonly string[] {
  const expected = "a list of names of headers, such as ['x-request-id']"
  if (!Array.isArray(given)) throw OptionError.expected('options.forward', expected, given)
  for (const [index, name] of given.entries()) {
    const path = `options.forward[${index}]`
    if (typeof name !== 'string' || name === '')
      throw OptionError.expected(path, 'the name of a header', name)
    if (name.startsWith(RESERVED_PREFIX))
      throw new OptionError(
        path,
        `${path} is a reserved name: headers with the prefix ${RESERVED_PREFIX} belong to one message and cannot be forwarded`
      )
  }
}

/** Adds the named headers of the handled message to calls; `undefined` if there are no names. */
export function forwarding(names: readonly string[]): Adapt | undefined {
  return names.length === 0 ? undefined : (options) => withForwarded(options, names)
}

/**
 * Adds the forwarded headers to the options of a call. The call's own headers take precedence. Only texts are
 * forwarded, because headers of Nest's protocol may have other types.
 */
function withForwarded(options: CallOptions | undefined, names: readonly string[]): CallOptions | undefined {
  const within: (HandledMessage & { readonly [SENT_HEADERS]?: MessageHeaders }) | undefined = options?.within
  const given = within?.[SENT_HEADERS] ?? within?.headers
  if (given === undefined) return options
  const found: Record<string, string> = {}
  for (const name of names) {
    if (!Object.hasOwn(given, name)) continue
    const value: unknown = given[name]
    if (typeof value === 'string') found[name] = value
  }
  return { ...options, headers: { ...found, ...options?.headers } }
}

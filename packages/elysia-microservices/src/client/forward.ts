/** Copies headers of the handled message to calls made `within` that message. */
import {
  type Caller,
  type CallOptions,
  type DurableCaller,
  type HandledMessage,
  type MessageHeaders,
  OptionError,
  RESERVED_PREFIX,
  unsendable
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

/** Adds forwarded headers to calls. Without names the caller is returned unchanged. */
export function forwardingCaller(caller: Caller, names: readonly string[]): Caller {
  if (names.length === 0) return caller
  return {
    request: async (pattern, data, options) => caller.request(pattern, data, withForwarded(options, names)),
    emit: async (pattern, data, options) => caller.emit(pattern, data, withForwarded(options, names)),
    stream(pattern, data, receiver, options) {
      try {
        return caller.stream(pattern, data, receiver, withForwarded(options, names))
      } catch (error) {
        receiver.error(unsendable(error))
        return { cancel() {}, resume() {}, request() {} }
      }
    }
  }
}

/** Adds forwarded headers to published events. Without names the function is returned unchanged. */
export function forwardingPublish(
  publish: DurableCaller['publish'],
  names: readonly string[]
): DurableCaller['publish'] {
  if (names.length === 0) return publish
  return async (pattern, data, options) => publish(pattern, data, withForwarded(options, names))
}

/**
 * Adds the forwarded headers to the options of a call. The call's own headers take precedence. Only texts are
 * forwarded, because headers of Nest's protocol may have other types.
 */
function withForwarded<Options extends Pick<CallOptions, 'headers' | 'within'>>(
  options: Options | undefined,
  names: readonly string[]
): Options | undefined {
  const within: (HandledMessage & { readonly [SENT_HEADERS]?: MessageHeaders }) | undefined = options?.within
  const given = within?.[SENT_HEADERS] ?? within?.headers
  if (given === undefined) return options
  const found: Record<string, string> = {}
  for (const name of names) {
    if (!Object.hasOwn(given, name)) continue
    const value: unknown = given[name]
    if (typeof value === 'string') found[name] = value
  }
  return { ...options, headers: { ...found, ...options?.headers } } as Options
}

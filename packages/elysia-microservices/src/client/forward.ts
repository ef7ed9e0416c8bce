/** Headers of the message being handled that go along with calls made `within` it. */
import {
  type Caller,
  type CallOptions,
  type DurableCaller,
  type Headers,
  OptionError,
  RESERVED_PREFIX,
  unsendable
} from '@elysia-microservices/transport/kit'

/** @throws {OptionError} it is no list of names of headers */
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
        `${path} is a reserved name: ${RESERVED_PREFIX}* belong to one message only`
      )
  }
}

/** Adds forwarded headers to calls. Without names it returns the caller itself. */
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

/** Adds forwarded headers to events that are published. Without names it returns the function itself. */
export function forwardingPublish(
  publish: DurableCaller['publish'],
  names: readonly string[]
): DurableCaller['publish'] {
  if (names.length === 0) return publish
  return async (pattern, data, options) => publish(pattern, data, withForwarded(options, names))
}

/** Headers of the call itself win. What is no text, as Nest's wire may bring it, stays behind. */
function withForwarded<Options extends Pick<CallOptions, 'headers' | 'within'>>(
  options: Options | undefined,
  names: readonly string[]
): Options | undefined {
  const given: Headers | undefined = options?.within?.headers
  if (given === undefined) return options
  const found: Record<string, string> = {}
  for (const name of names) {
    if (!Object.hasOwn(given, name)) continue
    const value: unknown = given[name]
    if (typeof value === 'string') found[name] = value
  }
  return { ...options, headers: { ...found, ...options?.headers } } as Options
}

/**
 * The argument of handlers and hooks where the message alone is not enough: with schemas, hooks, decorators or
 * wildcards. Decorators and store are on the prototype, so that a message costs one object however many there are.
 */
import {
  type Delivery,
  declaredError,
  type Headers,
  type IncomingMessage,
  OptionError,
  type Peer
} from '@elysia-microservices/transport/kit'
import type { PatternParams } from '../router/handler-pattern.ts'
import type { Message } from '../types/message.ts'

const NO_PARAMS: PatternParams = Object.freeze([])

/** A message on its way through hooks and handler. What `derive` and `resolve` return becomes part of it. */
export class MessageContext implements Message {
  data: unknown
  /** The texts that wildcards or groups of the pattern stand for; empty for an exact pattern. */
  readonly params: PatternParams
  /** For `onAfterHandle`: what the handler returned. */
  response: unknown
  /** Makes an error of the handler's contract; for `onError`: what was thrown. */
  error: unknown = declaredError
  /** For `onError`: the name of what was thrown. */
  code: string | undefined
  readonly #message: IncomingMessage
  #headers: Headers | undefined

  constructor(message: IncomingMessage, params: PatternParams = NO_PARAMS) {
    this.data = message.data
    this.params = params
    this.#message = message
  }

  get pattern(): string {
    return this.#message.pattern
  }

  get headers(): Headers {
    return this.#headers ?? this.#message.headers
  }

  set headers(headers: Headers) {
    this.#headers = headers
  }

  get metadata(): unknown {
    return this.#message.metadata
  }

  get signal(): AbortSignal {
    return this.#message.signal
  }

  get timeout(): number | undefined {
    return this.#message.timeout
  }

  get remaining(): number | undefined {
    return this.#message.remaining
  }

  get kind(): 'request' | 'event' {
    return this.#message.kind
  }

  get peer(): Peer | undefined {
    return this.#message.peer
  }

  get delivery(): Delivery | undefined {
    return this.#message.delivery
  }

  get transport(): string {
    return this.#message.transport
  }
}

/** Names that are a message's own; a decorator or a derived value must not hide them. */
export const RESERVED_NAMES: ReadonlySet<string> = new Set([
  ...Object.getOwnPropertyNames(MessageContext.prototype),
  'data',
  'params',
  'response',
  'error',
  'code',
  'end',
  'store'
])

/**
 * Checks the names of decorators.
 * @throws {OptionError} a message has a field of that name
 */
export function assertFree(names: Iterable<string>): void {
  for (const name of names) {
    if (!RESERVED_NAMES.has(name)) continue
    throw new OptionError(
      name,
      `A message has a field '${name}' itself; choose another name for the decorator or the derived value`
    )
  }
}

/** A class of contexts with decorators and a store. */
export function contextClass(decorators: object, store: object): typeof MessageContext {
  class DecoratedContext extends MessageContext {}
  const own = Object.getOwnPropertyDescriptors(decorators)
  for (const name of RESERVED_NAMES) delete own[name]
  Object.defineProperties(DecoratedContext.prototype, own)
  Object.defineProperty(DecoratedContext.prototype, 'store', { value: store, writable: true })
  return DecoratedContext
}

/**
 * The argument of handlers and hooks where the plain message is not enough: with schemas, hooks, decorators or
 * wildcards. Decorators and store are on the prototype, so that a message costs one object, however many decorators
 * there are.
 */
import {
  type AnswerSet,
  type CalledMethod,
  type Delivery,
  declaredError,
  type IncomingMessage,
  type MessageHeaders,
  OptionError,
  type Peer
} from '@elysia-microservices/transport/kit'
import type { InvokeGrpc } from '@elysia-microservices/transport/nest'
import type { PatternParams } from '../router/handler-pattern.ts'
import { type Message, SENT_HEADERS } from '../types/message.ts'

const NO_PARAMS: PatternParams = Object.freeze([])

/** A message on its way through hooks and handler. The values that `derive` and `resolve` return become its fields. */
export class MessageContext implements Message {
  data: unknown
  /** The texts that the wildcards or groups of the pattern have matched; empty for an exact pattern. */
  readonly params: PatternParams
  /** For `onAfterHandle`: the value that the handler returned. */
  response: unknown
  /** For `onError`: the error that was thrown. */
  error: unknown
  /** For `onError`: the code of the error that was thrown. */
  code: string | undefined
  readonly #message: IncomingMessage
  #headers: MessageHeaders | undefined

  constructor(message: IncomingMessage, params: PatternParams = NO_PARAMS) {
    this.data = message.data
    this.params = params
    this.#message = message
  }

  /** Makes an error that the handler declares. */
  get fail(): typeof declaredError {
    return declaredError
  }

  get pattern(): string {
    return this.#message.pattern
  }

  get headers(): MessageHeaders {
    return this.#headers ?? this.#message.headers
  }

  set headers(headers: MessageHeaders) {
    this.#headers = headers
  }

  get [SENT_HEADERS](): MessageHeaders {
    return this.#message.headers
  }

  get calledMethod(): CalledMethod | undefined {
    return this.#message.calledMethod
  }

  get invokeGrpc(): InvokeGrpc | undefined {
    return this.#message.invokeGrpc
  }

  get metadata(): unknown {
    return this.#message.metadata
  }

  get signal(): AbortSignal {
    return this.#message.signal
  }

  get set(): AnswerSet {
    return this.#message.set
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

/**
 * The names of a message's own fields. A decorator or a derived value must not hide such a field, and `__proto__` would
 * take all of them away.
 */
export const RESERVED_NAMES: ReadonlySet<string> = new Set([
  ...Object.getOwnPropertyNames(MessageContext.prototype),
  'data',
  'params',
  'response',
  'error',
  'code',
  'end',
  'store',
  '__proto__'
])

/**
 * Checks the names of decorators.
 * @throws {OptionError} a message already has a field of that name
 */
export function assertFree(names: Iterable<string>): void {
  for (const name of names) {
    if (!RESERVED_NAMES.has(name)) continue
    throw new OptionError(
      name,
      `A message already has a field '${name}'; choose another name for the decorator or the derived value`
    )
  }
}

/**
 * Adds the fields that a hook has returned to a context.
 * @throws {OptionError} the result is not an object, or a message already has a field of one of its names
 */
export function addFields(context: MessageContext, added: unknown, hook: 'derive' | 'resolve'): void {
  if (added === undefined || added === null) return
  if (typeof added !== 'object' || Array.isArray(added))
    throw OptionError.expected(`The result of ${hook}()`, 'an object of fields', added)
  for (const name of Object.keys(added)) {
    if (!RESERVED_NAMES.has(name)) continue
    throw new OptionError(
      name,
      `${hook}() has returned a field '${name}', which a message already has; choose another name for it`
    )
  }
  Object.assign(context, added)
}

/** Makes a class of contexts with decorators and a store. */
export function contextClass(decorators: object, store: object): typeof MessageContext {
  class DecoratedContext extends MessageContext {}
  const own = Object.getOwnPropertyDescriptors(decorators)
  for (const name of RESERVED_NAMES) delete own[name]
  Object.defineProperties(DecoratedContext.prototype, own)
  Object.defineProperty(DecoratedContext.prototype, 'store', { value: store, writable: true })
  return DecoratedContext
}

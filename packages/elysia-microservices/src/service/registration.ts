/** A registered handler, with all that is needed to compile it. */
import {
  type Around,
  composeArounds,
  type DurableOptions,
  type DurableSettings,
  durableSettings,
  OptionError,
  type ReceivedMessage
} from '@elysia-microservices/transport/kit'
import type { Binding } from '../controller/binding.ts'
import type { CompiledHandler, Plan } from '../hooks/pipeline.ts'
import { type HandlerPattern, type PatternParams, parsePattern } from '../router/handler-pattern.ts'

/** A registered handler of a service. */
export interface Registration {
  readonly kind: 'message' | 'event'
  readonly patterns: readonly HandlerPattern[]
  readonly durable: DurableSettings | undefined
  /** The transport to which the handler is bound; `undefined` if it answers over all transports. */
  readonly binding?: Binding | undefined
  /** Called for each compilation: the plan of a controller includes all hooks that the service has at that time. */
  readonly plan: () => Plan
  /** The arounds of the services through which the handler was included, the first outermost. */
  readonly arounds: () => readonly Around<ReceivedMessage>[]
}

/** Reads the option `durable`. @throws {OptionError} the option is invalid, or the handler answers requests */
export function durableOf(kind: 'message' | 'event', given: unknown): DurableSettings | undefined {
  if (given === undefined || given === false) return undefined
  if (kind === 'event') return durableSettings(given as DurableOptions | true)
  throw new OptionError('options.durable', 'Only events can be durable: a request has a caller that waits')
}

/** Wraps a handler in arounds, the first outermost. */
export function surrounded(
  handler: CompiledHandler,
  arounds: readonly Around<ReceivedMessage>[],
  hasParams: boolean
): CompiledHandler {
  if (arounds.length === 0) return handler
  if (!hasParams) return composeArounds(arounds, (message: ReceivedMessage) => handler(message))
  // The arounds are combined once, because an around may keep state between messages. So the texts that a message's
  // wildcards have matched cannot pass through the arounds, and reach the handler through this map.
  const wildcards = new WeakMap<object, PatternParams | undefined>()
  const handle = composeArounds(arounds, (message: ReceivedMessage) =>
    handler(message, wildcards.get(message))
  )
  return (message, params) => {
    wildcards.set(message, params)
    return handle(message)
  }
}

/** Whether one of these patterns can match several routes. */
export function hasParams(patterns: readonly HandlerPattern[]): boolean {
  return patterns.some((pattern) => ['wildcard', 'regexp'].includes(parsePattern(pattern).kind))
}

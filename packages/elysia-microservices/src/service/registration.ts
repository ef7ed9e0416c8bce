/** A handler as it is registered: with what it is compiled from. */
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

/** One of a service's handlers. */
export interface Registration {
  readonly kind: 'message' | 'event'
  readonly patterns: readonly HandlerPattern[]
  readonly durable: DurableSettings | undefined
  /** The transport that it is bound to; `undefined`: it is for all. */
  readonly binding?: Binding | undefined
  /** Called for each compilation: the plan of a controller has all hooks that its service has by then. */
  readonly plan: () => Plan
  /** The arounds of the services that the handler comes from, the first outermost. */
  readonly arounds: () => readonly Around<ReceivedMessage>[]
}

/** @throws {OptionError} it is invalid, or the handler is none of an event */
export function durableOf(kind: 'message' | 'event', given: unknown): DurableSettings | undefined {
  if (given === undefined || given === false) return undefined
  if (kind === 'event') return durableSettings(given as DurableOptions | true)
  throw new OptionError('options.durable', 'Only events can be durable: a request has a caller that waits')
}

/** A handler inside of arounds, the first outermost. */
export function surrounded(
  handler: CompiledHandler,
  arounds: readonly Around<ReceivedMessage>[],
  hasParams: boolean
): CompiledHandler {
  if (arounds.length === 0) return handler
  if (!hasParams) return composeArounds(arounds, (message: ReceivedMessage) => handler(message))
  // Put together once, because an around may keep state between messages. So what the wildcards of a message stand
  // for reaches the handler beside the arounds.
  const wildcards = new WeakMap<object, PatternParams | undefined>()
  const handle = composeArounds(arounds, (message: ReceivedMessage) =>
    handler(message, wildcards.get(message))
  )
  return (message, params) => {
    wildcards.set(message, params)
    return handle(message)
  }
}

/** Whether a pattern of these stands for several. */
export function hasParams(patterns: readonly HandlerPattern[]): boolean {
  return patterns.some((pattern) => ['wildcard', 'regexp'].includes(parsePattern(pattern).kind))
}

/** A registered handler, with all that is needed to compile it. */
import {
  composeMiddleware,
  type DurableOptions,
  type DurableSettings,
  durableSettings,
  type Middleware,
  OptionError,
  type ReceivedMessage
} from '@elysia-microservices/transport/kit'
import type { Binding } from '../controller/binding.ts'
import { type Hook, mergeHooks } from '../hooks/hook.ts'
import type { KnownClass } from '../hooks/known-errors.ts'
import type { CompiledHandler, Plan } from '../hooks/pipeline.ts'
import type { Surroundings } from '../hooks/surroundings.ts'
import type { HandlerTerms } from '../hooks/terms.ts'
import { type HandlerPattern, type PatternParams, parsePattern } from '../router/handler-pattern.ts'
import { asStandalone, type MessageSchema, mergeSchemas } from '../schema/message-schema.ts'

/** A handler as its own service has registered it. */
export interface Origin {
  readonly kind: 'message' | 'event'
  readonly durable: DurableSettings | undefined
  readonly terms: HandlerTerms
  /** The transport to which the handler is bound; `undefined` if it answers over all transports. */
  readonly binding?: Binding | undefined
  /** Called for each compilation: the plan of a controller includes all hooks that the service has at that time. */
  readonly plan: () => Plan
}

/** A service or group through which a handler was included. */
export interface Holder {
  /** Whether the service itself has a hook, the schema of a guard or a class of errors. */
  has(part: Hook['run'] | MessageSchema | KnownClass): boolean
}

/** The parts around a handler on its way through the services that use its own, the outermost first. */
export interface Way {
  readonly hooks: readonly Hook[]
  /** The schemas of guards. */
  readonly schemas: readonly MessageSchema[]
  readonly classes: readonly KnownClass[]
  /** Functions that return middleware, to which more may be added later. */
  readonly middleware: readonly (() => readonly Middleware<ReceivedMessage>[])[]
  /** The services and groups on the way, the outermost first; the last one is that of the handler. */
  readonly through: readonly Holder[]
}

/** A registered handler of a service. */
export interface Registration {
  readonly origin: Origin
  readonly patterns: readonly HandlerPattern[]
  readonly surroundings: Surroundings
  /**
   * The ways on which the service uses the handler. A handler that several used services share is taken once, as Elysia
   * takes a named plugin, and all that stands on any of its ways holds.
   */
  readonly ways: Way[]
}

/** The way of a handler of the service itself. */
export const NO_WAY: Way = { hooks: [], schemas: [], classes: [], middleware: [], through: [] }

/**
 * A way with what one more service has before it.
 * @param used the services that the outer service already uses. What they have there came from them: if one of them is
 * on the way, it stood behind the handler or stands on the way already, so it must not get before the handler now.
 */
export function wayBehind(outer: Way, inner: Way, used: (service: Holder) => boolean): Way {
  const through = [...outer.through, ...inner.through]
  const again = through.filter(used)
  const isNew = (part: Parameters<Holder['has']>[0]) => !again.some((service) => service.has(part))
  return {
    hooks: [...outer.hooks.filter(({ run }) => isNew(run)), ...inner.hooks],
    schemas: [...outer.schemas.filter(isNew), ...inner.schemas],
    classes: [...outer.classes.filter(isNew), ...inner.classes],
    middleware: [...outer.middleware, ...inner.middleware],
    through
  }
}

/** All that decides how the handler is called. */
export function planOf({ origin, ways: [first = NO_WAY, ...again] }: Registration): Plan {
  const own = origin.plan()
  const schemaOn = ({ schemas }: Way) => mergeSchemas(...schemas, own.schema)
  const further = again.filter(({ schemas }) => schemas.length > 0)
  return {
    ...own,
    hooks: mergeHooks(first.hooks, ...again.map(({ hooks }) => hooks), own.hooks),
    schema: mergeSchemas(...further.map((way) => asStandalone(schemaOn(way))), schemaOn(first)),
    classes: [...again.flatMap(({ classes }) => classes), ...first.classes, ...own.classes]
  }
}

/** The middleware of the services through which the handler was included, the first outermost. */
export function middlewareOf({
  ways: [first = NO_WAY, ...others]
}: Registration): Middleware<ReceivedMessage>[] {
  const of = ({ middleware }: Way) => middleware.flatMap((given) => given())
  const inner = of(first)
  return [...new Set(others.flatMap(of).filter((middleware) => !inner.includes(middleware))), ...inner]
}

/** Reads the option `durable`. @throws {OptionError} the option is invalid, or the handler answers requests */
export function durableOf(kind: 'message' | 'event', given: unknown): DurableSettings | undefined {
  if (given === undefined || given === false) return undefined
  if (kind === 'event') return durableSettings(given as DurableOptions | true)
  throw new OptionError('options.durable', 'Only events can be durable: a request has a caller that waits')
}

/** Wraps a handler in middleware, the first outermost. */
export function surrounded(
  handler: CompiledHandler,
  middleware: readonly Middleware<ReceivedMessage>[],
  hasParams: boolean
): CompiledHandler {
  if (middleware.length === 0) return handler
  if (!hasParams) return composeMiddleware(middleware, (message: ReceivedMessage) => handler(message))
  // Middleware is combined once, because it may keep state between messages. So the texts that a message's
  // wildcards have matched cannot pass through the middleware, and reach the handler through this map.
  const wildcards = new WeakMap<object, PatternParams | undefined>()
  const handle = composeMiddleware(middleware, (message: ReceivedMessage) =>
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

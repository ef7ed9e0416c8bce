/** The compiled handlers of a service by pattern. Finds the handlers of a message. */
import {
  type Dispatcher,
  type DurableSettings,
  EventHandlersError,
  type IncomingMessage,
  OptionError,
  PatternNotFoundError,
  type Route,
  VIA_PLAIN,
  viaOf
} from '@elysia-microservices/transport/kit'
import { answerByEventHandlers } from '@elysia-microservices/transport/nest'
import type { CompiledHandler } from '../hooks/pipeline.ts'
import { runToEnd } from '../hooks/run-to-end.ts'
import { type HandlerPattern, type PatternParams, parsePattern } from '../router/handler-pattern.ts'
import { type Match, PatternRouter } from '../router/pattern-router.ts'

/** A handler with its patterns. */
export interface RegisteredHandler {
  readonly kind: 'message' | 'event'
  readonly patterns: readonly HandlerPattern[]
  readonly handler: CompiledHandler
  /** The settings of a durable handler; `undefined` if the handler is not durable. */
  readonly durable?: DurableSettings | undefined
}

/** A handler of an event. `order` is the position in which the handler was registered. */
interface EventHandler {
  readonly order: number
  readonly handler: CompiledHandler
  /**
   * The name of a durable handler's group, for messages that are sent only to this group; `VIA_PLAIN` for other
   * handlers.
   */
  readonly via: string
}

/** A handler that needs only its message: the texts that its wildcards have matched are bound to it. */
type Bound = (message: IncomingMessage) => unknown

/** Answers messages with the registered handlers. */
export class HandlerRegistry implements Dispatcher {
  #messages = new PatternRouter<CompiledHandler>()
  #events = new PatternRouter<EventHandler[]>()
  #routes: Route[] = []
  #size = 0

  routes(): readonly Route[] {
    return this.#routes
  }

  /**
   * Adds a handler. A message pattern has one handler, an event pattern any number of handlers.
   * @throws {OptionError} a pattern is invalid, or is a message pattern that already has a handler
   */
  add({ kind, patterns, handler: given, durable }: RegisteredHandler): void {
    for (const pattern of patterns) {
      const handler = named(pattern, given)
      const parsed = parsePattern(pattern)
      const regexp = parsed.kind === 'regexp' ? parsed.regexp : undefined
      const route = regexp === undefined ? parsed.route : undefined
      const via = durable === undefined ? VIA_PLAIN : viaOf(route, durable.group)
      if (durable !== undefined) this.#addDurable(route, durable)
      if (kind === 'message') this.#addMessage(pattern, handler)
      else this.#events.getOrAdd(pattern, () => []).push({ order: this.#size++, handler, via })
      if (durable === undefined) this.#routes.push({ kind, route, ...(regexp && { regexp }) })
    }
  }

  /** Adds the route of a durable handler. Whether its group has another handler is checked at the start. */
  #addDurable(route: string | undefined, durable: DurableSettings): void {
    if (route === undefined)
      throw new OptionError('pattern', 'A durable event cannot have a RegExp as its pattern; use * or >')
    this.#routes.push({ kind: 'event', route, durable })
  }

  /** Replaces all handlers by the given ones. */
  replaceAll(handlers: readonly RegisteredHandler[]): void {
    this.#messages = new PatternRouter()
    this.#events = new PatternRouter()
    this.#routes = []
    for (const handler of handlers) this.add(handler)
  }

  request(message: IncomingMessage): unknown {
    const handler = this.#messages.exact.get(message.route)
    return handler !== undefined ? handler(message) : this.#requestInexact(message)
  }

  event(message: IncomingMessage): void | Promise<void> {
    const route = message.matched ?? message.route
    const exact = this.#events.onlyExact ? this.#events.exact.get(route) : undefined
    if (exact?.length === 1) {
      const [only] = exact as [EventHandler]
      if (message.via === undefined || message.via === only.via) return runToEnd(only.handler, message)
    }
    const handlers = this.#eventHandlers(message)
    if (handlers !== undefined) return runAll(handlers, message)
    const handler = this.#messages.exact.get(route) ?? bind(this.#messages.inexact(message.route))
    if (handler === undefined) throw PatternNotFoundError.of(message.pattern)
    return runToEnd(handler, message)
  }

  #addMessage(pattern: HandlerPattern, handler: CompiledHandler): void {
    let isNew = false
    this.#messages.getOrAdd(pattern, () => {
      isNew = true
      return handler
    })
    if (isNew) return
    const shown =
      typeof pattern === 'object' && !(pattern instanceof RegExp) ? JSON.stringify(pattern) : String(pattern)
    throw new OptionError(
      'pattern',
      `The message pattern '${shown}' has a handler already; a request has one answer (events may have several handlers)`
    )
  }

  #requestInexact(message: IncomingMessage): unknown {
    const meant = message.matched === undefined ? undefined : this.#messages.exact.get(message.matched)
    if (meant !== undefined) return meant(message)
    const match = this.#messages.inexact(message.route)
    if (match !== undefined) return match.value(message, match.params)
    // A request to the pattern of an event is answered only by handlers of this exact pattern. A handler with
    // wildcards must not answer, because the request may be meant for another service.
    const eventHandlers = this.#events.exact.get(message.matched ?? message.route)
    if (eventHandlers === undefined) throw PatternNotFoundError.of(message.pattern)
    return answerByEventHandlers(
      eventHandlers.map(
        ({ handler }) =>
          () =>
            handler(message)
      )
    )
  }

  /** All handlers of an event, in the order in which they were registered. */
  #eventHandlers({ route: given, matched, via }: IncomingMessage): readonly Bound[] | undefined {
    const route = matched ?? given
    const isMeant = (handler: EventHandler) => via === undefined || handler.via === via
    if (this.#events.onlyExact) {
      const meant = this.#events.exact.get(route)?.filter(isMeant)
      return meant === undefined || meant.length === 0 ? undefined : meant.map(({ handler }) => handler)
    }
    const found = this.#events
      .all(route)
      .flatMap(({ value, params }) =>
        value.filter(isMeant).map(({ order, handler }) => ({ order, handler, params }))
      )
    if (found.length === 0) return undefined
    return found
      .sort((a, b) => a.order - b.order)
      .map(({ handler, params }) => bind({ value: handler, params }) as Bound)
  }
}

/**
 * Sets the matched pattern on a message whose route is not the handler's pattern. If several handlers get the
 * message, the first one sets it.
 */
function named(pattern: HandlerPattern, handler: CompiledHandler): CompiledHandler {
  const { kind, route } = parsePattern(pattern)
  if (kind === 'exact') return handler
  return (message, params) => {
    message.matched ??= route
    return handler(message, params)
  }
}

/** Calls several handlers with an event. A handler that fails does not stop the others. */
function runAll(handlers: readonly Bound[], message: IncomingMessage): void | Promise<void> {
  const failures: unknown[] = []
  const pending: Promise<void>[] = []
  for (const handler of handlers) {
    try {
      const running = runToEnd(handler, message)
      if (running !== undefined) pending.push(running.catch((error: unknown) => void failures.push(error)))
    } catch (error) {
      failures.push(error)
    }
  }
  if (pending.length === 0) return fail(failures)
  return Promise.all(pending).then(() => fail(failures))
}

function fail(failures: readonly unknown[]): void {
  if (failures.length === 1) throw failures[0]
  if (failures.length > 1) throw new EventHandlersError(failures)
}

function bind(match: Match<CompiledHandler> | undefined): Bound | undefined {
  if (match === undefined) return undefined
  const { value, params }: { value: CompiledHandler; params: PatternParams } = match
  return (message) => value(message, params)
}

/** The compiled handlers of a service by pattern, and the way a message takes to them. Knows nothing of bytes. */
import {
  consume,
  type Dispatcher,
  type IncomingMessage,
  isStream,
  isThenable,
  type Logger,
  NO_HANDLER,
  readFailure,
  ValidationError
} from '@elysia-microservices/transport'
import { answerByEventHandlers } from './event-answer.ts'
import type { CompiledHandler } from './hooks/pipeline.ts'
import type { HandlerPattern, PatternParams } from './router/handler-pattern.ts'
import { type Match, PatternRouter } from './router/pattern-router.ts'

/** A handler with its patterns. */
export interface RegisteredHandler {
  readonly kind: 'message' | 'event'
  readonly patterns: readonly HandlerPattern[]
  readonly handler: CompiledHandler
}

/** One handler of an event; `order` is its place among all. */
interface EventHandler {
  readonly order: number
  readonly handler: CompiledHandler
}

/** A handler that waits for its message only. */
type Bound = (message: IncomingMessage) => unknown

/** Answers messages by the handlers registered. */
export class HandlerRegistry implements Dispatcher {
  #messages = new PatternRouter<CompiledHandler>()
  #events = new PatternRouter<EventHandler[]>()
  #size = 0
  readonly #logger: Logger

  constructor(logger: Logger) {
    this.#logger = logger
  }

  /**
   * Adds a handler: the one of its message patterns, or one more of its event patterns.
   * @throws {ValidationError} a pattern cannot be one, or is a message pattern that has a handler already
   */
  add({ kind, patterns, handler }: RegisteredHandler): void {
    for (const pattern of patterns) {
      if (kind === 'message') this.#addMessage(pattern, handler)
      else this.#events.getOrAdd(pattern, () => []).push({ order: this.#size++, handler })
    }
  }

  /** Forgets all handlers and adds these. */
  replaceAll(handlers: readonly RegisteredHandler[]): void {
    this.#messages = new PatternRouter()
    this.#events = new PatternRouter()
    for (const handler of handlers) this.add(handler)
  }

  request(message: IncomingMessage): unknown {
    const handler = this.#messages.exact(message.route)
    return handler !== undefined ? handler(message) : this.#requestInexact(message)
  }

  event(message: IncomingMessage): void | Promise<void> {
    const exact = this.#events.onlyExact ? this.#events.exact(message.route) : undefined
    if (exact?.length === 1) return this.#run((exact[0] as EventHandler).handler, message)
    const handlers = this.#eventHandlers(message)
    if (handlers !== undefined) return settleAll(handlers.map((handler) => this.#run(handler, message)))
    const handler = this.#messages.exact(message.route) ?? bind(this.#messages.inexact(message.route))
    if (handler !== undefined) return this.#run(handler, message)
    this.#logger.error(
      `There is no matching event handler defined in the remote service. Event pattern: ${message.pattern}`
    )
  }

  #addMessage(pattern: HandlerPattern, handler: CompiledHandler): void {
    let isNew = false
    this.#messages.getOrAdd(pattern, () => {
      isNew = true
      return handler
    })
    if (isNew) return
    const shown =
      typeof pattern === 'object' && !(pattern instanceof RegExp) ? JSON.stringify(pattern) : pattern
    throw new ValidationError('pattern', 'a message pattern without a handler yet', String(shown))
  }

  #requestInexact(message: IncomingMessage): unknown {
    const match = this.#messages.inexact(message.route)
    if (match !== undefined) return match.value(message, match.params)
    const eventHandlers = this.#eventHandlers(message)
    return eventHandlers === undefined ? NO_HANDLER : answerByEventHandlers(eventHandlers, message)
  }

  /** All handlers of an event, in the order of their registration. */
  #eventHandlers({ route }: IncomingMessage): readonly Bound[] | undefined {
    if (this.#events.onlyExact) return this.#events.exact(route)?.map(({ handler }) => handler)
    const found = this.#events
      .all(route)
      .flatMap(({ value, params }) => value.map(({ order, handler }) => ({ order, handler, params })))
    if (found.length === 0) return undefined
    return found
      .sort((a, b) => a.order - b.order)
      .map(({ handler, params }) => bind({ value: handler, params }) as Bound)
  }

  /** Calls one handler. A promise settles when its work has ended, well or not; it never rejects. */
  #run(handler: Bound, message: IncomingMessage): Promise<void> | undefined {
    let result: unknown
    try {
      result = handler(message)
    } catch (error) {
      this.#report(error, message)
      return undefined
    }
    if (typeof result !== 'object' || result === null) return undefined
    if (isThenable(result)) {
      return Promise.resolve(result).then(
        (value) => this.#drain(value, message),
        (error: unknown) => this.#report(error, message)
      )
    }
    return this.#drain(result, message)
  }

  /** Takes the values of a stream, for what its making does; nobody waits for them. */
  #drain(result: unknown, message: IncomingMessage): Promise<void> | undefined {
    if (typeof result !== 'object' || result === null || !isStream(result)) return undefined
    return new Promise((resolve) => {
      const failed = (error: unknown) => {
        this.#report(error, message)
        resolve()
      }
      try {
        consume(result, { next() {}, complete: resolve, error: failed })
      } catch (error) {
        failed(error)
      }
    })
  }

  #report(error: unknown, message: IncomingMessage): void {
    const failure = readFailure(error)
    if (!('answer' in failure) && !failure.logged) return
    this.#logger.error(`A handler of the event '${message.pattern}' failed`, error)
  }
}

function bind(match: Match<CompiledHandler> | undefined): Bound | undefined {
  if (match === undefined) return undefined
  const { value, params }: { value: CompiledHandler; params: PatternParams } = match
  return (message) => value(message, params)
}

function settleAll(running: (Promise<void> | undefined)[]): Promise<void> | undefined {
  const pending = running.filter((work) => work !== undefined)
  return pending.length === 0 ? undefined : Promise.all(pending).then(() => {})
}

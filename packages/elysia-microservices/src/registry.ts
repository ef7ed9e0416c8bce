/** The handlers of a service by route, and the way a message takes to them. Knows nothing of bytes. */
import {
  consume,
  type Dispatcher,
  type IncomingMessage,
  isStream,
  isThenable,
  type Logger,
  NO_HANDLER,
  type Pattern,
  readFailure,
  routeOf,
  ValidationError
} from '@elysia-microservices/transport'
import { answerByEventHandlers } from './event-answer.ts'
import type { EventHandler, MessageHandler, Patterns } from './service-types.ts'

/** Answers messages by the handlers registered. */
export class HandlerRegistry implements Dispatcher {
  readonly #messages = new Map<string | undefined, MessageHandler>()
  readonly #events = new Map<string | undefined, EventHandler[]>()
  readonly #logger: Logger

  constructor(logger: Logger) {
    this.#logger = logger
  }

  /**
   * Registers the handler of message patterns.
   * @throws {ValidationError} a pattern cannot be one, or has a handler already
   */
  addMessage(patterns: Patterns, handler: MessageHandler): void {
    for (const route of routesOf(patterns, handler)) {
      if (this.#messages.has(route)) {
        throw new ValidationError('pattern', 'a message pattern without a handler yet', route)
      }
      this.#messages.set(route, handler)
    }
  }

  /**
   * Registers one more handler of event patterns.
   * @throws {ValidationError} a pattern cannot be one
   */
  addEvent(patterns: Patterns, handler: EventHandler): void {
    for (const route of routesOf(patterns, handler)) {
      const handlers = this.#events.get(route)
      if (handlers === undefined) this.#events.set(route, [handler])
      else handlers.push(handler)
    }
  }

  request(message: IncomingMessage): unknown {
    const handler = this.#messages.get(message.route)
    if (handler !== undefined) return handler(message)
    const eventHandlers = this.#events.get(message.route)
    return eventHandlers === undefined ? NO_HANDLER : answerByEventHandlers(eventHandlers, message)
  }

  event(message: IncomingMessage): void | Promise<void> {
    const handlers = this.#events.get(message.route)
    if (handlers !== undefined) return settleAll(handlers.map((handler) => this.#run(handler, message)))
    const handler = this.#messages.get(message.route)
    if (handler !== undefined) return this.#run(handler, message)
    this.#logger.error(
      `There is no matching event handler defined in the remote service. Event pattern: ${message.pattern}`
    )
  }

  /** Calls one handler. A promise settles when its work has ended, well or not; it never rejects. */
  #run(handler: EventHandler, message: IncomingMessage): Promise<void> | undefined {
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

function routesOf(patterns: Patterns, handler: unknown): string[] {
  if (typeof handler !== 'function') throw new ValidationError('handler', 'a function', handler)
  const list: readonly Pattern[] = Array.isArray(patterns) ? patterns : [patterns as Pattern]
  return list.map(routeOf)
}

function settleAll(running: (Promise<void> | undefined)[]): Promise<void> | undefined {
  const pending = running.filter((work) => work !== undefined)
  return pending.length === 0 ? undefined : Promise.all(pending).then(() => {})
}

/** The handlers of one service, compiled for all its transports, or for each transport if handlers are bound to some. */
import type { Dispatcher } from '@elysia-microservices/transport/kit'
import { checkBindings, isServedBy } from '../controller/binding.ts'
import { type CompiledHandler, compile } from '../hooks/pipeline.ts'
import { limited } from '../hooks/time-limit.ts'
import { type HandlerPattern, parsePattern } from '../router/handler-pattern.ts'
import { inHand } from './handled-message.ts'
import {
  hasParams,
  middlewareOf,
  type Origin,
  planOf,
  type Registration,
  surrounded,
  type Way
} from './registration.ts'
import { HandlerRegistry, type RegisteredHandler } from './registry.ts'

/** The handlers of one service. */
export class Handlers {
  /** The handlers that are not bound to a transport, usually all handlers. */
  readonly #registry = new HandlerRegistry()
  /** The handlers of each transport, if some handlers are bound to a transport. */
  readonly #byTransport = new Map<string, HandlerRegistry>()
  readonly #all: Registration[] = []
  readonly #byOrigin = new Map<Origin, Registration[]>()
  /** The name of the store beside the transports, which brings events of durable handlers that are bound to a transport. */
  store: string | undefined

  /** All handlers, in the order of their registration. */
  get all(): readonly Registration[] {
    return this.#all
  }

  /** Whether handlers are bound to transports. */
  get hasBindings(): boolean {
    return this.#all.some(({ origin }) => origin.binding !== undefined)
  }

  /** Finds the handler of a message, by the transport over which the message has arrived if handlers are bound to some. */
  dispatcher(): Dispatcher {
    if (!this.hasBindings) return this.#registry
    return {
      routes: () => this.#registry.routes(),
      request: (message) => this.of(message.transport).request(message),
      event: (message) => this.of(message.transport).event(message)
    }
  }

  /** The handlers that answer over a transport. */
  of(transport: string): HandlerRegistry {
    const known = this.#byTransport.get(transport)
    if (known !== undefined) return known
    const registry = new HandlerRegistry()
    registry.replaceAll(this.#compiledFor(transport))
    this.#byTransport.set(transport, registry)
    return registry
  }

  /** Adds a handler. @throws {OptionError} a pattern is invalid, or is a message pattern that already has a handler */
  add(registration: Registration): void {
    if (registration.origin.binding === undefined) this.#registry.add(compiled(registration))
    for (const [transport, registry] of this.#byTransport)
      if (this.#isServed(registration.origin, transport)) registry.add(compiled(registration))
    this.#all.push(registration)
    this.#byOrigin.set(registration.origin, [
      ...(this.#byOrigin.get(registration.origin) ?? []),
      registration
    ])
  }

  /** Adds ways to a handler that is there already, under the same patterns. Returns whether there is such a handler. */
  addWays(origin: Origin, patterns: readonly HandlerPattern[], ways: readonly Way[]): boolean {
    const present = this.#byOrigin.get(origin)?.find((one) => isSame(one.patterns, patterns))
    present?.ways.push(...ways)
    return present !== undefined
  }

  /**
   * Checks that the service has the transports of its bound handlers. @throws {OptionError} a handler is bound to a
   * transport that the service does not have
   */
  checkTransports(names: readonly string[]): void {
    checkBindings(
      this.#all.flatMap(({ origin }) => origin.binding ?? []),
      names
    )
  }

  /** Compiles all handlers again, with the current hooks, decorators and store. */
  compileAll(): void {
    this.#registry.replaceAll(this.#compiledFor(undefined))
    for (const [transport, registry] of this.#byTransport) registry.replaceAll(this.#compiledFor(transport))
  }

  #compiledFor(transport: string | undefined): RegisteredHandler[] {
    return this.#all.filter(({ origin }) => this.#isServed(origin, transport)).map(compiled)
  }

  /** Whether a handler gets the messages of a transport, or of the store. */
  #isServed({ binding, durable }: Origin, transport: string | undefined): boolean {
    if (binding === undefined) return true
    if (transport === undefined) return false
    return (transport === this.store && durable !== undefined) || isServedBy(binding, transport)
  }
}

function compiled(registration: Registration): RegisteredHandler {
  const { origin, patterns, surroundings } = registration
  const plan = planOf(registration)
  const middleware = inHand(middlewareOf(registration))
  const handler = surrounded(inTime(registration, compile(plan, surroundings)), middleware, plan.hasParams)
  return { kind: origin.kind, patterns, handler, durable: origin.durable }
}

/** A handler with its option `timeout`, inside of all middleware. */
function inTime({ origin, patterns, surroundings }: Registration, handler: CompiledHandler): CompiledHandler {
  const { timeout } = origin.terms
  if (timeout === undefined) return handler
  // The message with less time is in hand inside of it, for clients with `inherit`.
  const inner = surrounded(handler, inHand([]), hasParams(patterns))
  return limited(inner, timeout, origin.kind === 'message', surroundings.logger)
}

function isSame(some: readonly HandlerPattern[], others: readonly HandlerPattern[]): boolean {
  const key = (patterns: readonly HandlerPattern[]) =>
    JSON.stringify(patterns.map((pattern) => Object.values(parsePattern(pattern)).slice(0, 2)))
  return key(some) === key(others)
}

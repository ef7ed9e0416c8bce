/**
 * The parts that all handlers of a service share: decorators, store, known errors. The app that uses it adds to them.
 */
import { consoleLogger, type Logger } from '@elysia-microservices/transport/kit'
import { assertFree, contextClass, type MessageContext } from './context.ts'
import type { ErrorClass, KnownErrors } from './known-errors.ts'

/** Decorators and store of an Elysia app. */
export interface Host {
  readonly decorator: object
  readonly store: object
}

/** The shared part of a service. */
export class Environment {
  /** Gets what hooks after a response throw. */
  logger: Logger = consoleLogger
  readonly #decorators: Record<string, unknown> = {}
  readonly #errors = new Map<string, ErrorClass>()
  #store: Record<string, unknown> = {}
  #host: Host | undefined
  #Context: typeof MessageContext | undefined

  /** Error classes registered. */
  get errors(): KnownErrors {
    return this.#errors
  }

  /** Whether handlers get nothing but the message. */
  get isEmpty(): boolean {
    const { decorators, store } = this.#all()
    return Object.keys(decorators).length === 0 && Object.keys(store).length === 0 && this.#errors.size === 0
  }

  /** The class of contexts, with what there is now. */
  contextClass(): typeof MessageContext {
    if (this.#Context === undefined) {
      const { decorators, store } = this.#all()
      this.#Context = contextClass(decorators, store)
    }
    return this.#Context
  }

  /** The argument of the service's start and stop hooks: the decorators, and the store as `store`. */
  lifeContext(): object {
    const { decorators, store } = this.#all()
    return { ...decorators, store }
  }

  /**
   * Adds decorators; earlier ones of the same name stay.
   * @throws {OptionError} a message has a field of that name
   */
  decorate(decorators: object): void {
    assertFree(Object.keys(decorators))
    addMissing(this.#decorators, decorators)
    this.#Context = undefined
  }

  /** Adds to the store; earlier values of the same name stay. */
  state(values: object): void {
    addMissing(this.#store, values)
  }

  /** Adds error classes; a code that is taken keeps its class. */
  error(classes: Readonly<Record<string, ErrorClass>>): void {
    for (const [code, type] of Object.entries(classes)) {
      if (!this.#errors.has(code)) this.#errors.set(code, type)
    }
  }

  /** Adds everything of another service. */
  include(other: Environment): void {
    addMissing(this.#decorators, other.#decorators)
    addMissing(this.#store, other.#store)
    this.error(Object.fromEntries(other.#errors))
    this.#Context = undefined
  }

  /** Makes an app the host: its store becomes the store, for both to see what the other writes. */
  join(host: Host): void {
    this.#host = host
    const store = host.store as Record<string, unknown>
    addMissing(store, this.#store)
    this.#store = store
    this.#Context = undefined
  }

  #all(): { decorators: object; store: object } {
    // The nearest wins: what the service itself was given.
    const decorators = this.#host === undefined ? {} : { ...this.#host.decorator }
    return { decorators: { ...decorators, ...this.#decorators }, store: this.#store }
  }
}

function addMissing(target: Record<string, unknown>, values: object): void {
  for (const [name, value] of Object.entries(values)) if (!(name in target)) target[name] = value
}

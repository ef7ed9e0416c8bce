/**
 * The environment of a service: the decorators and the store that all its handlers share. An Elysia app
 * that uses the service adds its own.
 */
import { consoleLogger, type Logger } from '@elysia-microservices/transport/kit'
import { assertFree, contextClass, type MessageContext } from './context.ts'

/** The decorators and the store of an Elysia app. */
export interface Host {
  readonly decorator: object
  readonly store: object
}

/** The environment of one service. */
export class Environment {
  /** Receives errors of the hooks that run after a response. */
  logger: Logger = consoleLogger
  readonly #decorators: Record<string, unknown> = {}
  #store: Record<string, unknown> = {}
  #host: Host | undefined
  #Context: typeof MessageContext | undefined

  /** Whether handlers get nothing in addition to the message. */
  get isEmpty(): boolean {
    const { decorators, store } = this.#all()
    return Object.keys(decorators).length === 0 && Object.keys(store).length === 0
  }

  /** The class of contexts, with the current decorators and store. */
  contextClass(): typeof MessageContext {
    if (this.#Context === undefined) {
      const { decorators, store } = this.#all()
      this.#Context = contextClass(decorators, store)
    }
    return this.#Context
  }

  /** The argument of the service's start and stop hooks: the decorators, and the store as the field `store`. */
  lifeContext(): object {
    const { decorators, store } = this.#all()
    return { ...decorators, store }
  }

  /**
   * Adds decorators. A decorator whose name is taken is ignored.
   * @throws {OptionError} a message already has a field of that name
   */
  decorate(decorators: object): void {
    assertFree(Object.keys(decorators))
    addMissing(this.#decorators, decorators)
    this.#Context = undefined
  }

  /** Adds values to the store. A value whose name is taken is ignored. */
  state(values: object): void {
    addMissing(this.#store, values)
  }

  /** Adds all decorators and store values of another service. */
  include(other: Environment): void {
    addMissing(this.#decorators, other.#decorators)
    addMissing(this.#store, other.#store)
    this.#Context = undefined
  }

  /** Makes an app the host. The service then uses the app's store object, so that each sees the other's changes. */
  join(host: Host): void {
    this.#host = host
    const store = host.store as Record<string, unknown>
    addMissing(store, this.#store)
    this.#store = store
    this.#Context = undefined
  }

  #all(): { decorators: object; store: object } {
    // A decorator of the service replaces a decorator of the app with the same name.
    const decorators = this.#host === undefined ? {} : { ...this.#host.decorator }
    return { decorators: { ...decorators, ...this.#decorators }, store: this.#store }
  }
}

function addMissing(target: Record<string, unknown>, values: object): void {
  for (const [name, value] of Object.entries(values)) if (!(name in target)) target[name] = value
}

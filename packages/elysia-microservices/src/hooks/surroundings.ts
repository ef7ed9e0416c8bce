/**
 * The environments around a handler: those of the services that use its service, the outermost first, and that of its
 * own service. A name means what it means in the closest environment that has it; a name that none of them has is
 * looked for in the app in which the outermost service runs.
 */
import { consoleLogger, type Logger } from '@elysia-microservices/transport/kit'
import { contextClass, type MessageContext } from './context.ts'
import type { Environment } from './environment.ts'

/** The environments around the handlers of one service. */
export class Surroundings {
  readonly #environments: readonly Environment[]
  readonly #within = new WeakMap<Environment, Surroundings>()
  #made: { readonly changes: number; readonly Context: typeof MessageContext } | undefined

  constructor(...environments: readonly Environment[]) {
    this.#environments = environments
  }

  /** The logger of the outermost service. */
  get logger(): Logger {
    return this.#environments[0]?.logger ?? consoleLogger
  }

  /** Whether handlers get nothing in addition to the message. */
  get isEmpty(): boolean {
    const { decorators, store } = additionsOf(this.#environments)
    return Object.keys(decorators).length + Object.keys(store).length === 0
  }

  /** The surroundings of the same handlers within one more service. All its handlers get the same object. */
  within(outer: Environment): Surroundings {
    const known = this.#within.get(outer)
    if (known !== undefined) return known
    const made = new Surroundings(outer, ...this.#environments)
    this.#within.set(outer, made)
    return made
  }

  /** The class of contexts, with the current decorators and store. */
  contextClass(): typeof MessageContext {
    const changes = this.#environments.reduce((sum, environment) => sum + environment.changes, 0)
    if (this.#made?.changes !== changes) {
      const { decorators, store } = additionsOf(this.#environments)
      this.#made = { changes, Context: contextClass(decorators, store) }
    }
    return this.#made.Context
  }
}

/** The argument of start and stop hooks: the decorators, and the store as the field `store`. */
export function lifeContext(environments: readonly Environment[]): object {
  const { decorators, store } = additionsOf(environments)
  return { ...decorators, store }
}

/** Gives an app the store's values that the app does not have, so that its HTTP handlers see them. */
export function shareStore(environment: Environment): void {
  const store = environment.host?.store
  if (store === undefined) return
  for (const { values } of environment.state())
    for (const name of Object.keys(values)) if (!(name in store)) passOn(store, name, values)
}

function additionsOf(environments: readonly Environment[]): { decorators: object; store: object } {
  const host = environments[0]?.host
  const all = [host?.decorator ?? {}, ...environments.map((environment) => environment.decorators())]
  return {
    decorators: Object.assign({}, ...all) as object,
    store: storeOf(environments, host?.store as Record<string, unknown> | undefined)
  }
}

/**
 * The store as handlers see it. Each value is kept by the service or app that has added it, so all who see it see its
 * changes. If only one of them has values, the store is the object with its values.
 */
function storeOf(environments: readonly Environment[], host: Record<string, unknown> | undefined): object {
  const inside = [...environments].reverse().flatMap((environment) => environment.state())
  const all = host === undefined ? inside : [...inside, { values: host, isOfApp: false }]
  const filled = all.filter(({ values }) => Object.keys(values).length > 0)
  const [first] = filled
  if (first === undefined) return host ?? (inside[0]?.values as object)
  if (filled.every(({ values }) => values === first.values)) return first.values
  const store = Object.create(host ?? Object.prototype) as object
  for (const { values, isOfApp } of filled)
    for (const name of Object.keys(values)) {
      if (Object.hasOwn(store, name)) continue
      passOn(store, name, isOfApp && host !== undefined && name in host ? host : values)
    }
  return store
}

/** Defines a property whose value is kept by another object. */
function passOn(target: object, name: string, owner: Record<string, unknown>): void {
  Reflect.defineProperty(target, name, {
    configurable: true,
    enumerable: true,
    get: () => owner[name],
    set(value: unknown) {
      owner[name] = value
    }
  })
}

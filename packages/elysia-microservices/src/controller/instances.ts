/** Makes instances of classes, without arguments or with a container. */
import { OptionError } from '@elysia-microservices/transport/kit'
import type { AnyClass } from './execution-context.ts'
import { METADATA } from './metadata.ts'

/**
 * Asks a container for the instance of a class. If the container does not know the class it returns `undefined`,
 * and the class is instantiated without arguments.
 */
export type Resolve = (
  type: new (...args: unknown[]) => object
) => object | undefined | Promise<object | undefined>

/** A class to instantiate, and where it is used. */
export interface Wanted {
  readonly type: AnyClass
  /** The place to name in errors, such as `OrdersController.create` or `options.nest.guards`. */
  readonly where: string
}

/** The instances of a service, one for each class. */
export class Instances {
  readonly #resolve: Resolve | undefined
  readonly #made = new Map<AnyClass, Promise<object>>()

  constructor(resolve: Resolve | undefined) {
    this.#resolve = resolve
  }

  /**
   * Checks that a class can be instantiated, before anything is made.
   * @throws {OptionError} the class cannot be instantiated
   */
  check(wanted: Wanted): void {
    refuseScope(wanted)
    if (this.#resolve === undefined) refuseArguments(wanted)
  }

  /**
   * Returns the instance of a class, which is made at the first call.
   * @throws {OptionError} the class cannot be instantiated
   */
  of(wanted: Wanted): Promise<object> {
    const made = this.#made.get(wanted.type)
    if (made !== undefined) return made
    const making = this.#make(wanted)
    this.#made.set(wanted.type, making)
    // A failed instance is forgotten, because the container may be able to make it at the next start.
    making.catch(() => this.#made.delete(wanted.type))
    return making
  }

  async #make(wanted: Wanted): Promise<object> {
    this.check(wanted)
    const type = wanted.type as new (...args: unknown[]) => object
    const resolved = await this.#resolve?.(type)
    if (resolved === undefined) {
      refuseArguments(wanted)
      return new type()
    }
    if (typeof resolved === 'object' && resolved !== null) return resolved
    throw OptionError.expected('options.nest.resolve', `an instance of ${type.name} or undefined`, resolved)
  }
}

/**
 * Refuses Nest's scopes "request" and "transient", which make an instance for each request or for each user of the
 * class.
 */
function refuseScope({ type, where }: Wanted): void {
  const options = Reflect.getMetadata(METADATA.scope, type) as { scope?: number } | undefined
  if (!options?.scope) return
  const received = options.scope === 2 ? 'request scope' : 'transient scope'
  throw new OptionError(
    where,
    `${where}: ${type.name} must be of singleton scope, but is ${received}; use @Ctx() for the values of one message`
  )
}

function refuseArguments({ type, where }: Wanted): void {
  const needed = neededArguments(type)
  const properties = neededProperties(type)
  if (needed === 0 && properties === 0) return
  const what =
    needed > 0
      ? `${needed} constructor argument${needed === 1 ? '' : 's'}`
      : `${properties} injected propert${properties === 1 ? 'y' : 'ies'}`
  throw new OptionError(
    where,
    `${where}: ${type.name} cannot be made without arguments (${what}); pass an instance, or set the option nest.resolve, which asks your container`
  )
}

function neededArguments(type: AnyClass): number {
  // `length` is 0 for a class that has no constructor, even if its parent's constructor takes arguments. So the
  // class with the constructor is looked for.
  let declaring = type
  while (declaring.length === 0 && !Reflect.hasOwnMetadata(METADATA.parameterTypes, declaring)) {
    const parent: unknown = Object.getPrototypeOf(declaring)
    if (typeof parent !== 'function' || parent.prototype === undefined) break
    declaring = parent as AnyClass
  }
  const optional = new Set(
    (Reflect.getMetadata(METADATA.optionalParameters, declaring) ?? []) as readonly number[]
  )
  return Array.from({ length: declaring.length }, (_, index) => index).filter((index) => !optional.has(index))
    .length
}

function neededProperties(type: AnyClass): number {
  const injected = (Reflect.getMetadata(METADATA.injectedProperties, type) ?? []) as readonly {
    readonly key: unknown
  }[]
  const optional = new Set(
    (Reflect.getMetadata(METADATA.optionalProperties, type) ?? []) as readonly unknown[]
  )
  return injected.filter(({ key }) => !optional.has(key)).length
}

/** One controller as the user gives it: a class, an instance, or a class with its own container. */
import { OptionError } from '@elysia-microservices/transport/kit'
import type { Message } from '../types/message.ts'
import type { AnyClass } from './execution-context.ts'
import { Instances, type Resolve } from './instances.ts'
import { type HandlerMethod, readController } from './reader.ts'

/**
 * A class with decorated methods, an instance of such a class, or a class and the container that makes its
 * instance.
 */
export type Controller = object | AnyClass | { readonly controller: AnyClass; readonly resolve: Resolve }

/** A handler whose function exists only after its controller has been instantiated. */
export interface LateHandler {
  current: (message: Message) => unknown
  isIntercepted: boolean
}

/** A controller and its metadata. */
export interface Entry {
  readonly type: AnyClass
  readonly instance: object | undefined
  readonly instances: Instances
  readonly handlers: readonly (HandlerMethod & { readonly late: LateHandler })[]
}

/**
 * Reads a controller. `shared` instantiates the classes that have no container of their own.
 * @throws {OptionError} the value is not a controller, or uses a part of Nest that is not supported
 */
export function entryOf(controller: Controller, shared: Instances): Entry {
  const own = isOwnEntry(controller) ? controller : undefined
  const given: unknown = own?.controller ?? controller
  if ((typeof given !== 'object' && typeof given !== 'function') || given === null)
    throw OptionError.expected('options.controllers', 'classes or instances', given)
  const instance = typeof given === 'object' ? given : undefined
  const type = (instance?.constructor ?? given) as AnyClass
  const instances = own === undefined ? shared : new Instances(own.resolve)
  const handlers = readController(type).map((handler) => ({ ...handler, late: newLateHandler(handler) }))
  return { type, instance, instances, handlers }
}

function isOwnEntry(controller: Controller): controller is { controller: AnyClass; resolve: Resolve } {
  return (
    typeof controller === 'object' &&
    controller !== null &&
    Object.getPrototypeOf(controller) === Object.prototype &&
    'controller' in controller
  )
}

function newLateHandler({ where }: HandlerMethod): LateHandler {
  return {
    current: () => {
      throw new Error(`${where} was called before its service listens`)
    },
    isIntercepted: false
  }
}

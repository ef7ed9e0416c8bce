/** Reads the handlers of a decorated class. What it finds and cannot honour is an error, never left out. */
import 'reflect-metadata'
import { type Pattern, ValidationError } from '@elysia-microservices/transport'
import type { Message } from '../types/message.ts'
import { RpcContext } from './context.ts'
import {
  ENHANCERS,
  HANDLER_TYPE,
  METADATA,
  PARAMETER_TYPE,
  type ParameterMetadata,
  TRANSPORT_TCP
} from './metadata.ts'

/** A class with decorated methods, or an instance of one. */
export type Controller = object | (new () => object)

/** One decorated method. */
export interface ControllerHandler {
  readonly kind: 'message' | 'event'
  readonly patterns: readonly Pattern[]
  call(message: Message): unknown
}

type Method = (...args: unknown[]) => unknown

const REQUEST_SCOPE = 2

/**
 * The handlers of a controller, inherited ones included. A class is instantiated without arguments.
 * @throws {ValidationError} the controller uses a part of Nest that is not supported, or has no handler
 */
export function readController(controller: Controller): ControllerHandler[] {
  const instance: object =
    typeof controller === 'function' ? new (controller as new () => object)() : controller
  const type = instance.constructor
  refuseRequestScope(type)
  const handlers: ControllerHandler[] = []
  for (const name of methodNames(instance)) {
    const method: unknown = Reflect.get(instance, name)
    if (typeof method !== 'function') continue
    const kind: unknown = Reflect.getMetadata(METADATA.handlerType, method)
    if (kind === undefined || !isForTcp(method)) continue
    const where = `${type.name}.${name}`
    refuseEnhancers(type, type.name)
    refuseEnhancers(method, where)
    handlers.push({
      kind: kind === HANDLER_TYPE.event ? 'event' : 'message',
      patterns: Reflect.getMetadata(METADATA.pattern, method) as Pattern[],
      call: caller(instance, method as Method, parametersOf(type, name, where))
    })
  }
  if (handlers.length === 0) {
    throw new ValidationError(
      'options.controllers',
      'classes with @MessagePattern or @EventPattern methods',
      instance
    )
  }
  return handlers
}

/** Names of methods along the prototype chain, each once, accessors left out as in Nest. */
function methodNames(instance: object): string[] {
  const names = new Set<string>()
  let prototype: object | null = Object.getPrototypeOf(instance)
  while (prototype !== null && prototype !== Object.prototype) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(prototype))) {
      if (name !== 'constructor' && typeof value === 'function') names.add(name)
    }
    prototype = Object.getPrototypeOf(prototype)
  }
  return [...names]
}

function isForTcp(method: object): boolean {
  const transport: unknown = Reflect.getMetadata(METADATA.transport, method)
  return transport === undefined || transport === TRANSPORT_TCP
}

interface Parameter {
  readonly index: number
  readonly source: 'data' | 'property' | 'context'
  readonly property: string
}

/** What each decorated parameter gets; `undefined` if none is decorated. */
function parametersOf(type: object, name: string, where: string): Parameter[] | undefined {
  const metadata = Reflect.getMetadata(METADATA.parameters, type, name) as ParameterMetadata | undefined
  if (metadata === undefined) return undefined
  return Object.entries(metadata).map(([key, { index, data, schema, pipes = [] }]) => {
    const parameter = `parameter ${index} of ${where}`
    if (pipes.length > 0) refuse(parameter, 'a parameter without pipes', 'pipes')
    if (schema !== undefined) refuse(parameter, 'a parameter without schema', 'a schema')
    if (key === `${PARAMETER_TYPE.context}:${index}`) return { index, source: 'context', property: '' }
    if (key !== `${PARAMETER_TYPE.payload}:${index}`)
      refuse(parameter, '@Payload() or @Ctx()', 'another decorator')
    if (typeof data !== 'string' || data === '') return { index, source: 'data', property: '' }
    return { index, source: 'property', property: data }
  })
}

function caller(
  instance: object,
  method: Method,
  parameters: Parameter[] | undefined
): ControllerHandler['call'] {
  // As in Nest: without decorated parameters, the method gets the data, and only that.
  if (parameters === undefined) return (message) => method.call(instance, message.data)
  return (message) => {
    const args: unknown[] = []
    for (const { index, source, property } of parameters) {
      if (source === 'context') args[index] = new RpcContext(message)
      else if (source === 'data') args[index] = message.data
      else args[index] = (message.data as Record<string, unknown> | null | undefined)?.[property]
    }
    return method.apply(instance, args)
  }
}

function refuseEnhancers(target: object, where: string): void {
  for (const [key, decorator] of Object.entries(ENHANCERS)) {
    const used = Reflect.getMetadata(key, target) as readonly unknown[] | undefined
    if (used !== undefined && used.length > 0)
      refuse(where, `no ${decorator}, which is not supported`, decorator)
  }
}

function refuseRequestScope(type: { readonly name: string }): void {
  const scope = Reflect.getMetadata(METADATA.scope, type) as { scope?: number } | undefined
  if (scope?.scope === REQUEST_SCOPE) refuse(type.name, 'a class of singleton scope', 'request scope')
}

function refuse(where: string, expected: string, received: string): never {
  throw new ValidationError(where, expected, received)
}

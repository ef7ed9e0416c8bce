/** Reads the handlers of a decorated class. Metadata that is not supported is an error, and is never ignored. */

import {
  type DurableOptions,
  type DurableSettings,
  durableSettings,
  OptionError,
  type Pattern
} from '@elysia-microservices/transport/kit'
import { type GrpcForm, grpcFormOf } from '@elysia-microservices/transport/nest'
import type {} from 'reflect-metadata'
import { type HandlerTerms, termsOf } from '../hooks/terms.ts'
import { compileSchemas, type MessageSchema, type SchemaOptions } from '../schema/message-schema.ts'
import type { AnyClass } from './execution-context.ts'
import { ENHANCERS, type EnhancerKind, HANDLER_TYPE, METADATA } from './metadata.ts'
import { type Method, type Parameter, parametersOf } from './parameters.ts'

/** One decorated method. */
export interface HandlerMethod {
  readonly kind: 'message' | 'event'
  readonly patterns: readonly Pattern[]
  readonly name: string
  /** The settings from the decorator's `durable`; `undefined` if the handler is not durable. */
  readonly durable: DurableSettings | undefined
  readonly terms: HandlerTerms
  /** The errors that the handler declares, and the errors that it passes on. */
  readonly schema: MessageSchema
  /**
   * Nest's transport to which the decorator binds the handler, a number or a symbol; `undefined` for all
   * transports.
   */
  readonly transport: unknown
  /** The form of a handler of Nest's decorators for gRPC; `undefined` for all other handlers. */
  readonly grpc: GrpcForm | undefined
  /** The names of class and method, for error messages. */
  readonly where: string
  readonly method: Method
  readonly parameters: readonly Parameter[]
  /** The handler's enhancers, first those of the class, then those of the method: instances and classes. */
  readonly enhancers: Readonly<Record<EnhancerKind, readonly unknown[]>>
}

/**
 * Returns the handlers of a class, including inherited ones.
 * @throws {OptionError} the class uses a part of Nest that is not supported, or has no handler
 */
export function readController(type: AnyClass): HandlerMethod[] {
  // Every decorator loads `reflect-metadata`. So without it no class is decorated.
  if (!('getMetadata' in Reflect)) throw hasNoHandler(type)
  refuseClients(type)
  const prototype = type.prototype as object
  const handlers: HandlerMethod[] = []
  for (const name of methodNames(prototype)) {
    const method = Reflect.get(prototype, name) as Method
    const kind: unknown = Reflect.getMetadata(METADATA.handlerType, method)
    if (kind === undefined) continue
    const where = `${type.name}.${name}`
    const patterns = Reflect.getMetadata(METADATA.pattern, method) as Pattern[]
    const grpc = grpcFormOf(patterns[0])
    const parameters = parametersOf(type, name, where, grpc !== undefined)
    const of = (kind: EnhancerKind) => [...enhancersOf(kind, type), ...enhancersOf(kind, method)]
    const enhancers = {
      guards: of('guards'),
      pipes: of('pipes'),
      interceptors: of('interceptors'),
      filters: of('filters')
    }
    handlers.push({
      kind: kind === HANDLER_TYPE.event ? 'event' : 'message',
      patterns,
      grpc,
      durable: durableOf(kind, method, where),
      terms: termsOf(
        kind === HANDLER_TYPE.event ? 'event' : 'message',
        method,
        Object(Reflect.getMetadata(METADATA.extras, method)),
        `the options of ${where}`
      ),
      schema: kind === HANDLER_TYPE.message ? errorsOf(method) : {},
      transport: Reflect.getMetadata(METADATA.transport, method) as unknown,
      ...{ name, where, method, parameters, enhancers }
    })
  }
  if (handlers.length > 0) return handlers
  throw hasNoHandler(type)
}

function hasNoHandler(type: AnyClass): OptionError {
  return OptionError.expected(
    'options.controllers',
    'classes with @MessagePattern or @EventPattern methods',
    type
  )
}

/** Reads the option `durable`. @throws {OptionError} the option is invalid, or the handler answers requests */
function durableOf(kind: unknown, method: object, where: string): DurableSettings | undefined {
  const extras = Object(Reflect.getMetadata(METADATA.extras, method)) as {
    durable?: DurableOptions | boolean
  }
  const { durable } = extras
  if (durable === undefined || durable === false) return undefined
  if (kind === HANDLER_TYPE.event) return durableSettings(durable, `durable of ${where}`)
  throw new OptionError(`durable of ${where}`, `${where}: only events can be durable`)
}

/** Reads the declared errors. @throws {OptionError} a declaration is invalid */
function errorsOf(method: object): MessageSchema {
  const { errors, passes } = Object(Reflect.getMetadata(METADATA.extras, method)) as SchemaOptions
  return compileSchemas({ errors, passes })
}

/** The names of all methods along the prototype chain, each once. As in Nest, accessors are left out. */
function methodNames(first: object): string[] {
  const names = new Set<string>()
  let prototype: object | null = first
  while (prototype !== null && prototype !== Object.prototype) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(prototype))) {
      if (name !== 'constructor' && typeof value === 'function') names.add(name)
    }
    prototype = Object.getPrototypeOf(prototype)
  }
  return [...names]
}

function enhancersOf(kind: EnhancerKind, target: object): readonly unknown[] {
  return (Reflect.getMetadata(ENHANCERS[kind].key, target) as readonly unknown[] | undefined) ?? []
}

/** Refuses `@Client()` properties: Nest fills them at its start, but here they would stay empty. */
function refuseClients({ name, prototype }: AnyClass): void {
  for (const property in prototype as object) {
    if (Reflect.getMetadata(METADATA.client, prototype as object, property) === undefined) continue
    throw new OptionError(
      `${name}.${property}`,
      `${name}.${property} is a @Client() property, which is not supported; take the client as an argument of the constructor, or make the client with connect()`
    )
  }
}

/**
 * The decorators that Nest users know, as legacy (experimental) decorators. They write the same metadata as the
 * decorators of `@nestjs/microservices`, so one reader understands both.
 */
import 'reflect-metadata'
import { type DurableOptions, OptionError, type Pattern } from '@elysia-microservices/transport/kit'
import type { Streams } from '../hooks/streams.ts'
import type { ErrorDeclarations } from '../schema/declared-errors.ts'
import type { Given, Pipe } from './enhancer.ts'
import { HANDLER_TYPE, METADATA, PARAMETER_TYPE, type ParameterMetadata } from './metadata.ts'

/** Options of both decorators. */
interface HandlerExtras {
  /** See the option `timeout` of `service.message`. */
  readonly timeout?: number | false | undefined
  /** See the option `idempotent` of `service.message`. */
  readonly idempotent?: boolean | undefined
}

/** The options of `@MessagePattern`, after its pattern. */
export interface MessageExtras extends HandlerExtras {
  /** See the option `errors` of `service.message`. */
  readonly errors?: ErrorDeclarations | undefined
  /** See the option `passes` of `service.message`. */
  readonly passes?: readonly string[] | undefined
  /** See the option `streams` of `service.message`. */
  readonly streams?: Streams | undefined
}

/** Makes the method answer requests of a pattern, or of several patterns. */
export function MessagePattern(
  pattern: Pattern | readonly Pattern[],
  extras?: MessageExtras
): MethodDecorator {
  return handlerDecorator(HANDLER_TYPE.message, pattern, extras)
}

/** The options of `@EventPattern`, after its pattern. */
export interface EventExtras extends Pick<HandlerExtras, 'timeout'> {
  /** See the option `durable` of `service.event`. */
  readonly durable?: DurableOptions | true | undefined
}

/** Makes the method handle events of a pattern, or of several patterns. */
export function EventPattern(pattern: Pattern | readonly Pattern[], extras?: EventExtras): MethodDecorator {
  return handlerDecorator(HANDLER_TYPE.event, pattern, extras)
}

/** Passes the message's data, or one property of it, to the parameter. The pipes run before the method is called. */
export function Payload(...pipes: readonly Given<Pipe>[]): ParameterDecorator
export function Payload(property: string, ...pipes: readonly Given<Pipe>[]): ParameterDecorator
export function Payload(first?: string | Given<Pipe>, ...rest: readonly Given<Pipe>[]): ParameterDecorator {
  if (first === undefined) return parameterDecorator(PARAMETER_TYPE.payload, undefined)
  if (typeof first === 'string') return parameterDecorator(PARAMETER_TYPE.payload, first, rest)
  return parameterDecorator(PARAMETER_TYPE.payload, undefined, [first, ...rest])
}

/** Passes the `RpcContext` of the message to the parameter. */
export function Ctx(): ParameterDecorator {
  return parameterDecorator(PARAMETER_TYPE.context, undefined)
}

function handlerDecorator(
  type: number,
  pattern: Pattern | readonly Pattern[],
  extras?: object
): MethodDecorator {
  return (_target, name, descriptor: PropertyDescriptor | undefined) => {
    const method: unknown = descriptor?.value
    if (typeof method !== 'function') {
      const where = `@MessagePattern or @EventPattern on ${typeof name === 'object' ? 'a method' : String(name)}`
      throw OptionError.expected(
        where,
        'a method, decorated the legacy way ("experimentalDecorators" and "emitDecoratorMetadata" in tsconfig.json)',
        method
      )
    }
    Reflect.defineMetadata(METADATA.pattern, [pattern].flat(), method)
    Reflect.defineMetadata(METADATA.handlerType, type, method)
    if (extras !== undefined) Reflect.defineMetadata(METADATA.extras, extras, method)
  }
}

function parameterDecorator(
  type: number,
  property: string | undefined,
  pipes: readonly Given<Pipe>[] = []
): ParameterDecorator {
  return (target, name, index) => {
    if (name === undefined) {
      throw new OptionError(
        '@Payload or @Ctx',
        '@Payload() and @Ctx() are for parameters of methods, not of constructors'
      )
    }
    const known = Reflect.getMetadata(METADATA.parameters, target.constructor, name) as
      | ParameterMetadata
      | undefined
    const all = { ...known, [`${type}:${index}`]: { index, data: property, pipes } }
    Reflect.defineMetadata(METADATA.parameters, all, target.constructor, name)
  }
}

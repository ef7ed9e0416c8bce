/**
 * Finds the values of a method's parameters: the data, a property of the data, the context, or the value of a
 * custom decorator.
 */
import { type Logger, OptionError } from '@elysia-microservices/transport/kit'
import { isPromise } from '../hooks/promise.ts'
import type { Message } from '../types/message.ts'
import { RpcContext } from './context.ts'
import type { Pipe, PipeMetadata } from './enhancer.ts'
import { type AnyClass, RpcExecutionContext } from './execution-context.ts'
import { CUSTOM_PARAMETER, METADATA, PARAMETER_TYPE, type ParameterMetadata } from './metadata.ts'

/**
 * The arguments of Nest's pipeline. Guards and interceptors may change them. Over gRPC the context is the metadata, and
 * the call is the third argument.
 */
export type Arguments = [data: unknown, context: RpcContext, call?: unknown]

/** A method of a controller. */
export type Method = (...args: unknown[]) => unknown

/** One parameter of a method. */
export interface Parameter {
  readonly index: number
  readonly source: 'data' | 'property' | 'context' | 'call' | 'custom'
  readonly property: string
  /** The function of a custom decorator. */
  readonly factory: ((data: unknown, context: RpcExecutionContext) => unknown) | undefined
  /** The pipes in the arguments of the parameter's decorator: instances and classes. */
  readonly pipes: readonly unknown[]
  readonly metadata: PipeMetadata
}

/** Makes the arguments of a method and calls it. */
export type Invoke = (args: Arguments) => unknown

/** The parameters of a method without decorators: as in Nest, the first parameter gets the data. */
const DATA_ALONE: ParameterMetadata = { [`${PARAMETER_TYPE.payload}:0`]: { index: 0 } }

/** The parameters of a handler of Nest's decorators for gRPC: data, metadata and call. */
const OF_GRPC: ParameterMetadata = {
  ...DATA_ALONE,
  [`${PARAMETER_TYPE.context}:1`]: { index: 1 },
  [`${PARAMETER_TYPE.grpcCall}:2`]: { index: 2 }
}

/**
 * The decorated parameters of a method; without any, the first parameter gets the data.
 * @throws {OptionError} a decorator is unknown
 */
export function parametersOf(type: AnyClass, name: string, where: string, isGrpc: boolean): Parameter[] {
  const metadata = (Reflect.getMetadata(METADATA.parameters, type, name) ??
    (isGrpc ? OF_GRPC : DATA_ALONE)) as ParameterMetadata
  const types = Reflect.getMetadata(METADATA.parameterTypes, type.prototype as object, name) as
    | readonly unknown[]
    | undefined
  return Object.entries(metadata).map(([key, { index, data, schema, factory, pipes = [] }]) => {
    const custom = key.includes(CUSTOM_PARAMETER)
    const isContext = key === `${PARAMETER_TYPE.context}:${index}`
    const isCall = isGrpc && key === `${PARAMETER_TYPE.grpcCall}:${index}`
    if (!custom && !isContext && !isCall && key !== `${PARAMETER_TYPE.payload}:${index}`) {
      throw new OptionError(
        `parameter ${index} of ${where}`,
        `Parameter ${index} of ${where} has a decorator that is not for messages (${key}); use @Payload() or @Ctx()`
      )
    }
    const hasProperty = typeof data === 'string' && data !== ''
    return {
      index,
      source: custom ? 'custom' : isContext ? 'context' : isCall ? 'call' : hasProperty ? 'property' : 'data',
      property: hasProperty ? data : '',
      factory: custom ? (factory as Parameter['factory']) : undefined,
      pipes: pipes.filter((pipe) => pipe !== undefined && pipe !== null),
      metadata: {
        metatype: types?.[index],
        type: custom || isContext || isCall ? 'custom' : 'body',
        data,
        schema
      }
    }
  })
}

/** Calls a method without a pipeline. No promise is made, and the context is made only if a parameter takes it. */
export function directCall(
  instance: object,
  method: Method,
  parameters: readonly Parameter[],
  logger: Logger
): (message: Message) => unknown {
  const [only] = parameters
  if (parameters.length === 1 && only?.source === 'data' && only.index === 0)
    return (message) => method.call(instance, message.data)
  return (message) => {
    const args: unknown[] = []
    for (const { index, source, property } of parameters) {
      if (source === 'context') args[index] = new RpcContext(message, logger)
      else args[index] = source === 'data' ? message.data : propertyOf(message.data, property)
    }
    return method.apply(instance, args)
  }
}

/** Calls a method in Nest's pipeline, with pipes. `pipesOf` returns the pipes of a parameter in their order. */
export function invocation(
  instance: object,
  method: Method,
  parameters: readonly Parameter[],
  pipesOf: (parameter: Parameter) => readonly Pipe[]
): Invoke {
  const type = instance.constructor as AnyClass
  const argumentOf = ({ source, property, factory, metadata }: Parameter, args: Arguments): unknown => {
    if (source === 'custom') return factory?.(metadata.data, new RpcExecutionContext(args, type, method))
    if (source === 'context') return args[1]
    if (source === 'call') return args[2]
    return source === 'data' ? args[0] : propertyOf(args[0], property)
  }
  const piped = parameters.map((parameter) => ({ parameter, pipes: pipesOf(parameter) }))
  if (!piped.some(({ parameter, pipes }) => pipes.length > 0 || parameter.source === 'custom')) {
    return (args) => {
      const values: unknown[] = []
      for (const parameter of parameters) values[parameter.index] = argumentOf(parameter, args)
      return method.apply(instance, values)
    }
  }
  return async (args) => {
    const values: unknown[] = []
    await Promise.all(
      piped.map(async ({ parameter, pipes }) => {
        values[parameter.index] = await applyPipes(argumentOf(parameter, args), parameter.metadata, pipes)
      })
    )
    return method.apply(instance, values)
  }
}

async function applyPipes(value: unknown, metadata: PipeMetadata, pipes: readonly Pipe[]): Promise<unknown> {
  // Only a promise of a custom decorator is awaited here. So, as in Nest, the first pipes of all parameters run
  // before any second pipe.
  let current = isPromise(value) ? await value : value
  for (const pipe of pipes) current = await pipe.transform(current, { ...metadata } as never)
  return current
}

function propertyOf(data: unknown, property: string): unknown {
  return (data as Record<string, unknown> | null | undefined)?.[property]
}

/**
 * Binds a controller's method to its instance and its pipeline. Pipelines need rxjs, so their code is loaded only
 * for the first method that has a pipeline.
 */
import { type Logger, OptionError } from '@elysia-microservices/transport/kit'
import type { Message } from '../types/message.ts'
import type { Enhancers, Pipe, PreRequestHook } from './enhancer.ts'
import type { AnyClass } from './execution-context.ts'
import type { RpcExceptionClass } from './filters.ts'
import { directCall, invocation, type Method } from './parameters.ts'
import type { HandlerMethod } from './reader.ts'

/**
 * The function that is called for a message: the method itself if it has no pipeline, otherwise the pipeline around
 * the method.
 * @throws {OptionError} the instance has no such method, or a filter needs `options.nest.RpcException`
 */
export async function bind(
  instance: object,
  { name, where, method, parameters, grpc }: HandlerMethod,
  { guards, pipes, interceptors, filters }: Enhancers,
  parameterPipes: ReadonlyMap<unknown, Pipe>,
  preRequestHooks: readonly PreRequestHook[],
  RpcException: RpcExceptionClass | undefined,
  logger: Logger
): Promise<(message: Message) => unknown> {
  const own: unknown = Reflect.get(instance, name)
  if (typeof own !== 'function')
    throw OptionError.expected(where, 'a method of the instance that resolve() returned', own)
  const parts = [preRequestHooks, guards, pipes, interceptors, filters]
  const isDirect = parameters.every(
    (parameter) => parameter.source !== 'custom' && parameter.pipes.length === 0
  )
  if (grpc === undefined && isDirect && parts.every((part) => part.length === 0))
    return directCall(instance, own as Method, parameters, logger)
  const [{ pipeline, pipelineOfArguments }, { failureBy, refusalFor }] = await Promise.all([
    import('./pipeline.ts'),
    import('./filters.ts')
  ])
  const stages = {
    type: instance.constructor as AnyClass,
    method,
    preRequestHooks,
    guards,
    refusal: guards.length === 0 ? () => new Error(where) : refusalFor(where, filters, RpcException),
    interceptors,
    invoke: invocation(instance, own as Method, parameters, (parameter) => [
      ...pipes,
      ...parameter.pipes.map((pipe) => parameterPipes.get(pipe) as Pipe)
    ]),
    fail: failureBy(filters, logger),
    logger
  }
  if (grpc === undefined) return pipeline(stages)
  const { grpcCalls } = await import('./grpc-calls.ts')
  return grpcCalls(grpc, pipelineOfArguments(stages))
}

/**
 * Handlers to which nothing of Nest's pipeline is bound: no guard, pipe, interceptor or pre-request hook, also no global
 * one, and no scope of a request. Their methods are called without the pipeline, which makes some ten promises for each
 * request even when it is empty. Exception filters stay: they do nothing until a handler fails.
 */
import { createRequire } from 'node:module'
import {
  type IncomingMessage,
  isThenable,
  type Logger,
  whenSettled
} from '@elysia-microservices/transport/kit'
import { grpcFormOf } from '@elysia-microservices/transport/nest'
import { type MessageHandler, Transport } from '@nestjs/microservices'
import { catchError, isObservable, type Observable } from 'rxjs'
import { MicroserviceContext } from './microservice-context.ts'

/**
 * Calls the method of a handler with a message, and Nest's filters with its errors. The context is made when it is
 * needed, if none is given.
 */
export type DirectCall = (
  message: IncomingMessage,
  logger: Logger | undefined,
  given?: MicroserviceContext
) => unknown

/** The same for a handler of gRPC, with the arguments that its pipeline would get. */
export type DirectGrpcCall = (args: readonly unknown[]) => unknown

/** The key under which a handler of Nest has its direct call, if it has one. */
const DIRECT = Symbol('DirectCall')
/** The same for handlers of gRPC. */
const DIRECT_GRPC = Symbol('DirectGrpcCall')

/** The direct call of a handler, or `undefined`: something is bound to it, or Nest did not make it. */
export function directCallOf(handler: MessageHandler): DirectCall | undefined {
  return (handler as { readonly [DIRECT]?: DirectCall })[DIRECT]
}

/** The same for a handler of gRPC. */
export function directGrpcCallOf(handler: MessageHandler): DirectGrpcCall | undefined {
  return (handler as { readonly [DIRECT_GRPC]?: DirectGrpcCall })[DIRECT_GRPC]
}

type Method = (this: unknown, ...args: unknown[]) => unknown
type CreateArguments = [
  instance: unknown,
  method: Method,
  moduleKey: string,
  methodName: string,
  contextId?: unknown,
  /** Set for handlers in the scope of a request. */
  inquirerId?: string,
  defaults?: unknown,
  reportsUnhandled?: boolean
]

interface Parameter {
  readonly index: number
  /** Nest's `RpcParamtype`, or a text for a decorator of the user. */
  readonly type: unknown
  /** The name of a field of the data. */
  readonly data: unknown
  readonly pipes: readonly unknown[]
}

interface PartsCreator {
  create(instance: unknown, method: Method, moduleKey: string): readonly unknown[]
}

/** The members that are used of Nest's `RpcContextCreator`, which makes the pipeline of each handler. */
interface ContextCreator {
  readonly rpcProxy: {
    handleError(
      handler: unknown,
      args: readonly unknown[],
      error: unknown,
      reports: boolean
    ): Observable<unknown>
  }
  readonly exceptionFiltersContext: { create(instance: unknown, method: Method, moduleKey: string): unknown }
  readonly pipesContextCreator: PartsCreator
  readonly guardsContextCreator: PartsCreator
  readonly interceptorsContextCreator: PartsCreator
  readonly applicationConfig?: { getGlobalPreRequestHooks(): readonly unknown[] }
  getMetadata(
    instance: unknown,
    methodName: string,
    defaults: unknown,
    type: 'rpc'
  ): { readonly argsLength: number; getParamsMetadata(moduleKey: string): readonly Parameter[] | undefined }
  create(...args: CreateArguments): MessageHandler
}

let isPrepared = false

/**
 * Lets Nest tell of each handler whether something is bound to it. A strategy only gets the handler's finished pipeline,
 * so the one place that knows is Nest's own class. Without that class, as in another version of Nest, every handler keeps
 * its pipeline.
 */
export function findDirectHandlers(): void {
  if (isPrepared) return
  isPrepared = true
  const prototype = contextCreatorOfNest()
  const create = prototype?.create
  if (prototype === undefined || typeof create !== 'function') return
  prototype.create = function (this: ContextCreator, ...args) {
    const isGrpc = isOfGrpc(args[1])
    // Nest itself asks for the class of its own server.
    if (isGrpc) args[6] = GRPC_PARAMETERS
    const handler = create.apply(this, args)
    if (isGrpc) return withGrpcCall(handler, directGrpcCallBy(this, args))
    const call = directCallBy(this, args)
    return call === undefined ? handler : withDirectCall(handler, call)
  }
}

/**
 * A handler of Nest that also has a direct call. Nest calls the handler of an event inside a function of its own; there,
 * too, the method is called at once, so that an event is handled before a request which was sent after it.
 */
function withDirectCall(handler: MessageHandler, call: DirectCall): MessageHandler {
  const handle = (...args: Parameters<MessageHandler>) => {
    const [data, context] = args
    return context instanceof MicroserviceContext && context.message.data === data
      ? call(context.message, undefined, context)
      : handler(...args)
  }
  return Object.defineProperty(handle as MessageHandler, DIRECT, { value: call })
}

function withGrpcCall(handler: MessageHandler, call: DirectGrpcCall | undefined): MessageHandler {
  return call === undefined ? handler : Object.defineProperty(handler, DIRECT_GRPC, { value: call })
}

/** Whether a method has one of Nest's decorators for gRPC. */
function isOfGrpc(method: Method): boolean {
  const read = (key: string): unknown => Reflect.getMetadata(key, method)
  if (read('microservices:transport') !== Transport.GRPC) return false
  return grpcFormOf((read('microservices:pattern') as readonly unknown[] | undefined)?.[0]) !== undefined
}

/** The parameters of a method without decorators, as Nest's own server for gRPC has them. */
const GRPC_PARAMETERS = {
  '6:1': { index: 1, data: undefined, pipes: [] },
  '9:2': { index: 2, data: undefined, pipes: [] },
  '3:0': { index: 0, data: undefined, pipes: [] }
}

function contextCreatorOfNest(): ContextCreator | undefined {
  try {
    const { RpcContextCreator } = createRequire(import.meta.url)(
      '@nestjs/microservices/context/rpc-context-creator.js'
    ) as { readonly RpcContextCreator?: { readonly prototype: ContextCreator } }
    return RpcContextCreator?.prototype
  } catch {
    return undefined
  }
}

function directCallBy(creator: ContextCreator, args: CreateArguments): DirectCall | undefined {
  const plain = plainMethodOf(creator, args)
  if (plain === undefined) return undefined
  const { parameters, handleError } = plain
  const [instance, method] = args
  return callWithFilters(
    callOf(instance, method, parameters, plain.length),
    parameters.some(({ type }) => type === CONTEXT),
    (error, data, context) => handleError([data, context], error)
  )
}

function directGrpcCallBy(creator: ContextCreator, args: CreateArguments): DirectGrpcCall | undefined {
  const plain = plainMethodOf(creator, args)
  if (plain === undefined) return undefined
  const { parameters, length, handleError } = plain
  const [instance, method] = args
  return (given) => {
    const own: unknown[] = new Array(length).fill(undefined)
    for (const { index, type, data: field } of parameters)
      own[index] = type === PAYLOAD ? fieldOf(given[0], field) : given[type === CONTEXT ? 1 : 2]
    return withFilters(
      () => method.apply(instance, own),
      (error) => handleError(given, error)
    )
  }
}

/** A method without a pipeline. */
interface PlainMethod {
  readonly parameters: readonly Parameter[]
  readonly length: number
  /** Lets Nest's filters answer an error of the method. */
  handleError(args: readonly unknown[], error: unknown): Observable<unknown>
}

/** Reads a method; `undefined`: something is bound to it. */
function plainMethodOf(creator: ContextCreator, args: CreateArguments): PlainMethod | undefined {
  try {
    const [instance, method, moduleKey, methodName, , inquirerId, defaults, reportsUnhandled = false] = args
    const parts = [
      creator.guardsContextCreator,
      creator.pipesContextCreator,
      creator.interceptorsContextCreator
    ]
    const isBound = parts.some((part) => part.create(instance, method, moduleKey).length > 0)
    const hooks = creator.applicationConfig?.getGlobalPreRequestHooks() ?? []
    if (inquirerId !== undefined || isBound || hooks.length > 0) return undefined
    const { argsLength, getParamsMetadata } = creator.getMetadata(instance, methodName, defaults, 'rpc')
    const parameters = getParamsMetadata(moduleKey)
    if (parameters === undefined || !parameters.every(isPlain)) return undefined
    const filters = creator.exceptionFiltersContext.create(instance, method, moduleKey)
    return {
      parameters,
      length: argsLength,
      handleError: (given, error) => creator.rpcProxy.handleError(filters, given, error, reportsUnhandled)
    }
  } catch {
    // Parts of another version of Nest.
    return undefined
  }
}

/** The values of Nest's `RpcParamtype`, which its package does not export. */
const PAYLOAD = 3
const CONTEXT = 6
const GRPC_CALL = 9

/** Whether a parameter is the data, a field of the data, the context or the call, without a pipe. */
function isPlain({ type, pipes }: Parameter): boolean {
  return (type === PAYLOAD || type === CONTEXT || type === GRPC_CALL) && pipes.length === 0
}

/** Calls a method. There is a context only if a parameter asks for it. */
type Call = (data: unknown, context: MicroserviceContext | undefined) => unknown

function callOf(instance: unknown, method: Method, parameters: readonly Parameter[], length: number): Call {
  const [first] = parameters
  if (length === 1 && first?.type === PAYLOAD && !first.data) return (data) => method.call(instance, data)
  return (data, context) => {
    const args: unknown[] = new Array(length).fill(undefined)
    for (const { index, type, data: field } of parameters)
      args[index] = type === CONTEXT ? context : fieldOf(data, field)
    return method.apply(instance, args)
  }
}

function fieldOf(data: unknown, field: unknown): unknown {
  return field ? (data as Record<PropertyKey, unknown> | null | undefined)?.[field as string] : data
}

/** Passes the errors of a method to Nest's exception filters, as Nest's `RpcProxy` does. */
function callWithFilters(
  call: Call,
  needsContext: boolean,
  failed: (error: unknown, data: unknown, context: MicroserviceContext) => Observable<unknown>
): DirectCall {
  return (message, logger, given) => {
    const { data } = message
    const context = given ?? (needsContext ? new MicroserviceContext(message, logger) : undefined)
    return withFilters(
      () => call(data, context),
      (error) => failed(error, data, context ?? new MicroserviceContext(message, logger))
    )
  }
}

function withFilters(call: () => unknown, failed: (error: unknown) => Observable<unknown>): unknown {
  try {
    const result = call()
    if (typeof result !== 'object' || result === null) return result
    const isWaiting = isThenable(result)
    if (!isWaiting && !isObservable(result)) return result
    const withFilter = (value: unknown) => (isObservable(value) ? value.pipe(catchError(failed)) : value)
    return isWaiting ? whenSettled(result, withFilter, failed) : withFilter(result)
  } catch (error) {
    return failed(error)
  }
}

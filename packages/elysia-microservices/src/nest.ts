/**
 * `elysia-microservices/nest`: Nest's decorators, and what belongs to controllers. Only this entry loads
 * `reflect-metadata`.
 */
export { RpcContext } from './controller/context.ts'
export { type ContractDecorators, decoratorsOf } from './controller/contract-decorators.ts'
export {
  Ctx,
  type EventExtras,
  EventPattern,
  type MessageExtras,
  MessagePattern,
  Payload
} from './controller/decorators.ts'
export type {
  Filter,
  Given,
  Guard,
  Interceptor,
  Pipe,
  PipeMetadata,
  PreRequestHook
} from './controller/enhancer.ts'
export type { Controller } from './controller/entry.ts'
export type { AnyClass, RpcExecutionContext } from './controller/execution-context.ts'
export type { RpcExceptionClass } from './controller/filters.ts'
export type { Resolve } from './controller/instances.ts'
export type { NestApp, NestOptions } from './controller/nest-app.ts'

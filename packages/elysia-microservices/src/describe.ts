/**
 * `elysia-microservices/describe`: AsyncAPI documents of services, and the types of descriptions and figures, which
 * `service.describe()`, `service.stats()` and `service.workers.figures()` return.
 */
export type {
  Address,
  DurableFigures,
  DurationBuckets,
  HandlerFigures,
  ServiceStatus,
  TransportStats,
  Usage
} from '@elysia-microservices/transport'
export type { Role, WorkerFigures } from '@elysia-microservices/workers'
export { type AsyncApiDocument, asyncApi } from './description/asyncapi.ts'
export { type AsyncApiRouteOptions, asyncApiRoute } from './description/asyncapi-route.ts'
export type {
  DescribeOptions,
  HandlerDescription,
  PartFigures,
  PatternDescription,
  ServiceDescription,
  StreamsDescription
} from './description/description.ts'
export type { JsonSchema } from './description/json-schema.ts'
export type { AnyTransportStats } from './short-form.ts'

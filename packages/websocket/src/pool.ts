/**
 * The public interface for programs that call several servers. Users cannot import anything that is not listed
 * here.
 */
export type {
  EjectOptions,
  ReconnectOptions,
  RetryBudget,
  RetryOptions
} from '@elysia-microservices/rsocket/pool'
export { connect, type PoolOptions } from './client/pool.ts'

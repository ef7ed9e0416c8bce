/** The public interface for programs that call several servers. What is not listed here does not exist for users. */
export type {
  EjectOptions,
  ReconnectOptions,
  RetryBudget,
  RetryOptions
} from '@elysia-microservices/rsocket/pool'
export { connect, type PoolOptions } from './client/pool.ts'

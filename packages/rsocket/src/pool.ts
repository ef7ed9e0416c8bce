/** The exports for clients with connections to one server or more: endpoints, balancing, retries. */
export { type Address, addressName } from './balance/address.ts'
export { Balancer, type Candidate } from './balance/balancer.ts'
export type { SrvRecord } from './balance/srv.ts'
export {
  type CheckedResilience,
  type EjectOptions,
  RESILIENCE_DEFAULTS,
  type ReconnectOptions,
  type ResilienceOptions,
  type RetryBudget,
  type RetryOptions,
  resilienceOptions
} from './options/resilience-options.ts'
export { Endpoint, type EndpointOwner, type Link, type LinkParts, type NewLink } from './pool/endpoint.ts'
export { EndpointSource, type Resolver } from './pool/endpoint-source.ts'
export {
  isEndpointFailure,
  type NewProtocol,
  Pool,
  type PoolOptions,
  type ProtocolParts
} from './pool/pool.ts'
export { PoolClient, type PoolClientInit } from './pool/pool-client.ts'

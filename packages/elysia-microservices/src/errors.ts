/**
 * The exports for callers without a transport: errors, and types of clients and contracts. They need nothing of a
 * runtime, so they can be bundled for pages, edges and programs alike.
 */
export {
  CanceledError,
  ConnectionError,
  type DeclaredError,
  isError,
  LocalError,
  MicroserviceError,
  OptionError,
  type Outcome,
  OverloadedError,
  PatternNotFoundError,
  PayloadTooLargeError,
  ProtocolError,
  RejectedError,
  RpcError,
  TimeoutError,
  UnauthenticatedError,
  ValidationError,
  type ValidationIssue
} from '@elysia-microservices/transport'
export type { ClientOf, ErrorOf } from './client/client-types.ts'
export type { NotCarried } from './types/arriving.ts'
export type { EventOf, Implements } from './types/contract.ts'

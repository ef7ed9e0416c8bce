/** All errors: answers (sent by the other side) and local errors (failures on this side). */
export {
  errorOf,
  PatternNotFoundError,
  RejectedError,
  RpcError,
  type RpcErrorInit,
  UnauthenticatedError,
  ValidationError,
  type ValidationIssue
} from './answers.ts'
export { type DeclaredError, declaredError, isError } from './declared.ts'
export { Discard, EventRefusedError, NotStoredError, RetryLater } from './durable.ts'
export {
  CanceledError,
  ConnectionError,
  forOneMore,
  ListenError,
  LocalError,
  OptionError,
  OverloadedError,
  PayloadTooLargeError,
  ProtocolError,
  TimeoutError,
  unsendable,
  WorkerError
} from './local.ts'
export { describe, MicroserviceError, noteCall } from './microservice-error.ts'

/** The public interface of the package for Nest. What is not listed here does not exist for users. */
export {
  CanceledError,
  ConnectionError,
  ListenError,
  LocalError,
  MicroserviceError,
  OptionError,
  OverloadedError,
  PayloadTooLargeError,
  ProtocolError,
  RejectedError,
  TimeoutError,
  UnauthenticatedError
} from '@elysia-microservices/transport'
export { MicroserviceClient } from './microservice-client.ts'
export { MicroserviceContext } from './microservice-context.ts'
export { MicroserviceServer } from './microservice-server.ts'
export type {
  MicroserviceClientEvents,
  MicroserviceClientOptions,
  MicroserviceServerEvents,
  MicroserviceServerOptions,
  MicroserviceStatus
} from './options.ts'

/** The public interface of the package for Nest. Other exports of its files are internal. */
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
export { GrpcMetadata } from '@elysia-microservices/transport/nest'
export { ClientProxy, Transport } from '@nestjs/microservices'
export { Client, type ClientFactory, ClientProxyFactory, ClientsModule } from './clients-module.ts'
export { type ClientGrpc, MicroserviceGrpcClient } from './grpc-client.ts'
export { GrpcServiceError } from './grpc-error.ts'
export { MicroserviceClient } from './microservice-client.ts'
export { MicroserviceContext } from './microservice-context.ts'
export { MicroserviceServer } from './microservice-server.ts'
export { NestFactory } from './nest-factory.ts'
export type { NestForm } from './nest-transport.ts'
export type {
  MicroserviceClientEvents,
  MicroserviceClientOptions,
  MicroserviceServerEvents,
  MicroserviceServerOptions,
  MicroserviceStatus
} from './options.ts'

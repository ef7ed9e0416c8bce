/** The gRPC service that client and server share, read from `echo.proto`. */
import { loadPackageDefinition, type ServiceClientConstructor } from '@grpc/grpc-js'
import { loadEchoProto } from '../echo-proto.ts'

export function loadEchoService(): ServiceClientConstructor {
  const { bench } = loadPackageDefinition(loadEchoProto()) as unknown as {
    bench: { Echo: ServiceClientConstructor }
  }
  return bench.Echo
}

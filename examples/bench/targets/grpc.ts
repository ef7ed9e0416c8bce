/** The gRPC service that both ends share, read from `echo.proto`. */
import { join } from 'node:path'
import { loadPackageDefinition, type ServiceClientConstructor } from '@grpc/grpc-js'
import { loadSync } from '@grpc/proto-loader'
import { BENCH_FOLDER } from '../process/folder.ts'

/** The methods of the service. */
export const methodNames = ['Text', 'Bytes', 'Order', 'Rows'] as const
export type MethodName = (typeof methodNames)[number]

export function loadEchoService(): ServiceClientConstructor {
  const definition = loadSync(join(BENCH_FOLDER, 'targets', 'echo.proto'), {
    keepCase: true,
    longs: Number,
    defaults: true
  })
  const { bench } = loadPackageDefinition(definition) as unknown as {
    bench: { Echo: ServiceClientConstructor }
  }
  return bench.Echo
}

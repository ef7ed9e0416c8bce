/** Nest's echo server over gRPC, as its documentation shows a microservice: `Transport.GRPC` with a `.proto`. */
import 'reflect-metadata'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { Controller } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { GrpcMethod, type MicroserviceOptions, Transport } from '@nestjs/microservices'
import { from } from 'rxjs'
import { ECHO_PROTO } from '../../peers/grpc/echo-methods.ts'
import { runServer, type Work } from '../../peers/run-server.ts'
import { LOADER } from '../echo-proto.ts'

function echoModule(work: Work) {
  @Controller()
  class Echo {
    @GrpcMethod('Echo', 'Text')
    text(data: unknown) {
      return work.answer(data)
    }

    @GrpcMethod('Echo', 'Bytes')
    bytes(data: unknown) {
      return work.answer(data)
    }

    @GrpcMethod('Echo', 'Order')
    order(data: unknown) {
      return work.answer(data)
    }

    @GrpcMethod('Echo', 'Rows')
    rows(data: unknown) {
      return work.answer(data)
    }

    @GrpcMethod('Echo', 'Record')
    record(data: unknown) {
      return work.answer(data)
    }

    @GrpcMethod('Echo', 'Count')
    count({ values }: { readonly values: number }) {
      return from(work.records(values))
    }
  }
  class EchoModule {}
  return { module: EchoModule, controllers: [Echo] }
}

await runServer(7021, async ({ host, port: wanted, work }) => {
  // Nest does not say which port it has got.
  const port = wanted === 0 ? await freePort(host) : wanted
  const app = await NestFactory.createMicroservice<MicroserviceOptions>(echoModule(work), {
    transport: Transport.GRPC,
    options: {
      package: 'bench',
      protoPath: ECHO_PROTO,
      loader: LOADER,
      url: `${host}:${port}`,
      maxReceiveMessageLength: -1
    },
    logger: ['error', 'warn']
  })
  await app.listen()
  return { port, stop: () => app.close() }
})

async function freePort(host: string): Promise<number> {
  const server = createServer().listen(0, host)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/** The echo server of this project over gRPC: every method answers with its message, except `Count`, which streams. */
import { grpc } from '@elysia-microservices/grpc'
import { loadProto } from '@elysia-microservices/protobuf'
import { type Message, microservice } from 'elysia-microservices'
import { runServer } from '../run-server.ts'
import { ECHO_PROTO, methodNames } from './echo-methods.ts'

await runServer(7020, async ({ host, port, work }) => {
  const transport = grpc({ proto: await loadProto({ files: ECHO_PROTO }), host, port })
  const service = microservice({ name: 'echo', transport }).message(
    'bench.Echo/Count',
    ({ data }: Message<{ values: number }>) => work.records(data.values)
  )
  for (const name of methodNames) service.message(`bench.Echo/${name}`, ({ data }) => work.answer(data))
  await service.listen()
  return { port: transport.address!.port, stop: () => service.stop() }
})

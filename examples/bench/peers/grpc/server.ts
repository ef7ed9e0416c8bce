/** gRPC's server for Node: every method answers with the message it got. */
import { type handleUnaryCall, Server, ServerCredentials } from '@grpc/grpc-js'
import { methodNames } from '../echo-proto.ts'
import { runServer } from '../run-server.ts'
import { loadEchoService } from './service.ts'

const echo: handleUnaryCall<unknown, unknown> = (call, answer) => answer(null, call.request)

await runServer(7005, async ({ host, port }) => {
  const server = new Server({ 'grpc.max_receive_message_length': -1 })
  server.addService(loadEchoService().service, Object.fromEntries(methodNames.map((name) => [name, echo])))
  const listening = await new Promise<number>((resolve, reject) => {
    server.bindAsync(`${host}:${port}`, ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error)
    )
  })
  return { port: listening, stop: async () => server.forceShutdown() }
})

/** gRPC's server for Node: every method answers with its message, except `Count`, which streams. */
import {
  type handleServerStreamingCall,
  type handleUnaryCall,
  Server,
  ServerCredentials
} from '@grpc/grpc-js'
import { methodNames } from '../../peers/grpc/echo-methods.ts'
import { runServer, type Work } from '../../peers/run-server.ts'
import { records } from '../../peers/work.ts'
import { loadEchoService } from './service.ts'

const echoBy =
  (work: Work): handleUnaryCall<unknown, unknown> =>
  (call, answer) => {
    const result = work.answer(call.request)
    if (result instanceof Promise) void result.then((value) => answer(null, value))
    else answer(null, result)
  }

/** Writes values as fast as Node's stream accepts them. */
const count: handleServerStreamingCall<{ values: number }, unknown> = async (call) => {
  let goOn = () => {}
  call.on('drain', () => goOn())
  call.once('cancelled', () => goOn())
  for (const value of records(call.request.values)) {
    if (call.cancelled) return
    if (call.write(value)) continue
    await new Promise<void>((resolve) => {
      goOn = resolve
    })
  }
  call.end()
}

await runServer(7005, async ({ host, port, work }) => {
  const server = new Server({ 'grpc.max_receive_message_length': -1 })
  const echo = echoBy(work)
  server.addService(loadEchoService().service, {
    ...Object.fromEntries(methodNames.map((name) => [name, echo])),
    Count: count
  })
  const listening = await new Promise<number>((resolve, reject) => {
    server.bindAsync(`${host}:${port}`, ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error)
    )
  })
  return { port: listening, stop: async () => server.forceShutdown() }
})

/** gRPC's own client for Node, with a connection of its own. */
import { type Client, credentials, type requestCallback } from '@grpc/grpc-js'
import type { OpenEchoClient } from '../echo-client.ts'
import { type MethodName, WAYS } from '../echo-proto.ts'
import { loadEchoService } from './service.ts'

/** Milliseconds to connect. */
const PATIENCE = 10_000

type EchoMethods = Client &
  Readonly<Record<MethodName, (message: unknown, answered: requestCallback<{ value?: unknown }>) => unknown>>

export const openEchoClient: OpenEchoClient = async (host, port, { payload: { shape } }) => {
  const Echo = loadEchoService()
  const client = new Echo(`${host}:${port}`, credentials.createInsecure(), {
    // Clients of one process share their connections otherwise.
    'grpc.use_local_subchannel_pool': 1,
    'grpc.max_receive_message_length': -1
  }) as unknown as EchoMethods
  await new Promise<void>((resolve, reject) => {
    client.waitForReady(Date.now() + PATIENCE, (error) => (error === undefined ? resolve() : reject(error)))
  })
  const { method, wrapped } = WAYS[shape]
  return {
    echo: (payload, answered, failed) => {
      client[method](wrapped ? { value: payload } : payload, (error, answer) => {
        if (error !== null) failed(error)
        else answered(wrapped ? answer?.value : answer)
      })
    },
    close: async () => client.close()
  }
}

/** gRPC's own client for Node, with a connection of its own. */
import { type Client, credentials, type requestCallback } from '@grpc/grpc-js'
import type { ShapeName } from '../payload/payload.ts'
import type { OpenEchoClient } from './echo-client.ts'
import { loadEchoService, type MethodName } from './grpc.ts'

/** Milliseconds to connect. */
const PATIENCE = 10_000

/** How a shape travels: by which method, and whether in the field `value` of a message or as the message itself. */
const WAYS: Readonly<Record<ShapeName, { readonly method: MethodName; readonly wrapped: boolean }>> = {
  flat: { method: 'Text', wrapped: true },
  object: { method: 'Order', wrapped: false },
  document: { method: 'Order', wrapped: false },
  list: { method: 'Rows', wrapped: true },
  binary: { method: 'Bytes', wrapped: true },
  large: { method: 'Text', wrapped: true }
}

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

/** gRPC's own client for Node, with a connection of its own. */
import {
  type Client,
  type ClientReadableStream,
  credentials,
  type requestCallback,
  status
} from '@grpc/grpc-js'
import type { OpenEchoClient } from '../../peers/echo-client.ts'
import { type MethodName, WAYS } from '../../peers/grpc/echo-methods.ts'
import { loadEchoService } from './service.ts'

/** The time limit for connecting, in milliseconds. */
const PATIENCE = 10_000

type EchoMethods = Client &
  Readonly<
    Record<MethodName, (message: unknown, answered: requestCallback<{ value?: unknown }>) => unknown>
  > & {
    Count(message: { values: number }): ClientReadableStream<unknown>
  }

export const openEchoClient: OpenEchoClient = async (host, port, { payload: { shape } }) => {
  const Echo = loadEchoService()
  const client = new Echo(`${host}:${port}`, credentials.createInsecure(), {
    // Otherwise clients of one process share their connections.
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
    stream: (values, reader) => {
      const call = client.Count({ values })
      call.on('data', (value: unknown) => {
        const taken = reader.value(value)
        if (taken === undefined) return
        call.pause()
        void taken.then(() => call.resume())
      })
      let isOver = false
      const over = (tell: () => void) => {
        if (!isOver) tell()
        isOver = true
      }
      call.on('end', () => over(reader.ended))
      call.on('error', (error: Error & { code?: status }) =>
        over(() => (error.code === status.CANCELLED ? reader.ended() : reader.failed(error)))
      )
      return () => call.cancel()
    },
    close: async () => client.close()
  }
}

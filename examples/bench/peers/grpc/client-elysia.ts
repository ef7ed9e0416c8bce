/** This project's client over gRPC. */
import { grpc } from '@elysia-microservices/grpc'
import { loadProto } from '@elysia-microservices/protobuf'
import { connect } from 'elysia-microservices/client'
import type { OpenEchoClient } from '../echo-client.ts'
import { silent } from '../elysia/ask-through.ts'
import { iterate, subscribe } from '../read-stream.ts'
import { ECHO_PROTO, WAYS } from './echo-methods.ts'

export const openEchoClient: OpenEchoClient = async (host, port, { payload: { shape }, task }) => {
  const proto = await loadProto({ files: ECHO_PROTO })
  const client = connect({ transport: grpc({ proto, host, port }), logger: silent })
  await client.connect()
  const { method, wrapped } = WAYS[shape]
  const pattern = `bench.Echo/${method}`
  const isIterated = task.mode === 'stream' && task.take === 'iterate'
  return {
    echo: (payload, answered, failed) => {
      client
        .request<{ readonly value?: unknown }>(pattern, wrapped ? { value: payload } : payload)
        .then((answer) => answered(wrapped ? answer.value : answer), failed)
    },
    stream: (values, reader) =>
      isIterated
        ? iterate(client.stream('bench.Echo/Count', { values }), reader)
        : subscribe(client.send('bench.Echo/Count', { values }), reader),
    close: () => client.close()
  }
}

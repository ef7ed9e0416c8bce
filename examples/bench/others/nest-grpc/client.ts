/** Nest's own client over gRPC: `ClientGrpc`, whose methods return Observables. */
import { Logger } from '@nestjs/common'
import { type ClientGrpcProxy, ClientProxyFactory, Transport } from '@nestjs/microservices'
import type { Observable } from 'rxjs'
import type { OpenEchoClient } from '../../peers/echo-client.ts'
import { ECHO_PROTO, WAYS } from '../../peers/grpc/echo-methods.ts'
import { subscribe } from '../../peers/read-stream.ts'
import { LOADER } from '../echo-proto.ts'

// Nest logs each lost connection, partly to stdout, which is reserved for the result.
Logger.overrideLogger(false)

type Methods = Readonly<Record<string, (message: unknown) => Observable<unknown>>>

export const openEchoClient: OpenEchoClient = async (host, port, { payload: { shape } }) => {
  const client = ClientProxyFactory.create({
    transport: Transport.GRPC,
    options: {
      package: 'bench',
      protoPath: ECHO_PROTO,
      loader: LOADER,
      url: `${host}:${port}`,
      maxReceiveMessageLength: -1,
      // Otherwise clients of one process share their connections.
      channelOptions: { 'grpc.use_local_subchannel_pool': 1 }
    }
  }) as ClientGrpcProxy
  const echo = client.getService<Methods>('Echo')
  const { method, wrapped } = WAYS[shape]
  // Nest gives methods names that begin in lower case.
  const name = method.charAt(0).toLowerCase() + method.slice(1)
  return {
    echo: (payload, answered, failed) => {
      let answer: unknown
      echo[name]!(wrapped ? { value: payload } : payload).subscribe({
        next: (value) => {
          answer = value
        },
        complete: () => answered(wrapped ? (answer as { readonly value?: unknown }).value : answer),
        error: failed
      })
    },
    stream: (values, reader) => subscribe(echo['count']!({ values }), reader),
    close: async () => client.close()
  }
}

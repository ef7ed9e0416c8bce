/** Both ends of gRPC over real sockets, for peers of other libraries. */
import { newTimer, Session, type SessionOptions } from '@elysia-microservices/rsocket/session'
import { nativeSockets } from '@elysia-microservices/tcp/kit'
import { type Dispatcher, PendingCaller } from '@elysia-microservices/transport/kit'
import { GrpcClientConnection } from '../client/grpc-client-connection.ts'
import type { GrpcMethods } from '../methods.ts'
import { GrpcConnection } from '../server/grpc-connection.ts'

const logger = { error() {}, warn() {} }
const TIMEOUT = 30_000

const OPTIONS: SessionOptions = {
  logger,
  incompleteMessageTimeout: 30_000,
  maxUnsent: 134_217_728,
  protocol: () => {
    throw new Error('The protocol is known')
  },
  closed: (_session, protocol, error) => protocol?.close(error)
}

const common = (methods: GrpcMethods) => ({
  methods,
  logger,
  maxMessageSize: 16_777_216,
  maxHeldSize: 16_777_216,
  newTimer
})

/** Answers calls at a free port. */
export async function serveGrpc(
  methods: GrpcMethods,
  dispatcher: Dispatcher
): Promise<{ readonly port: number; readonly connections: readonly GrpcConnection[]; stop(): void }> {
  const connections: GrpcConnection[] = []
  const sessions = new Set<Session>()
  const listening = await nativeSockets.listen({ host: '127.0.0.1', port: 0 }, (socket) => {
    const connection = new GrpcConnection({ ...common(methods), dispatcher })
    const session = new Session(socket, OPTIONS, connection)
    connections.push(connection)
    sessions.add(session)
    connection.open(session)
    return session
  })
  return {
    port: listening.address.port,
    connections,
    stop() {
      listening.stop()
      for (const session of sessions) session.destroy()
    }
  }
}

/** Makes calls to a port. */
export async function callGrpc(
  methods: GrpcMethods,
  port: number
): Promise<{ readonly caller: PendingCaller; readonly connection: GrpcClientConnection; close(): void }> {
  const connection = new GrpcClientConnection({
    ...common(methods),
    timeout: TIMEOUT,
    authority: `127.0.0.1:${port}`,
    isSecure: false,
    where: `grpc://127.0.0.1:${port}`,
    goingAway() {}
  })
  let session: Session | undefined
  await nativeSockets.connect(
    { host: '127.0.0.1', port },
    (socket) => {
      session = new Session(socket, OPTIONS, connection)
      connection.open(session)
      return session
    },
    new AbortController().signal
  )
  return {
    caller: new PendingCaller((call) => connection.calls.start(call), TIMEOUT),
    connection,
    close() {
      connection.leave()
      session?.end()
    }
  }
}

/** HTTP/2 over real sockets of this library, for peers of other libraries. */
import { connect as connectTcp } from 'node:net'
import { Session, type SessionOptions } from '@elysia-microservices/rsocket/session'
import { nativeSockets } from '@elysia-microservices/tcp/kit'
import { Http2Connection, type Http2Init } from '../http2/connection.ts'

const silent = { log() {}, error() {}, warn() {}, debug() {}, verbose() {} }

const OPTIONS: SessionOptions = {
  logger: silent,
  incompleteMessageTimeout: 30_000,
  maxUnsent: 134_217_728,
  protocol: () => {
    throw new Error('The protocol is known')
  },
  closed: (_session, protocol, error) => protocol?.close(error)
}

/** A port at which HTTP/2 is answered. */
export interface Listening {
  readonly port: number
  /** The connections so far. */
  readonly connections: readonly Http2Connection[]
  stop(): void
}

/** Listens on a free port. */
export async function listen(init: Omit<Http2Init, 'role' | 'now'>): Promise<Listening> {
  const connections: Http2Connection[] = []
  const sessions = new Set<Session>()
  const listening = await nativeSockets.listen({ host: '127.0.0.1', port: 0 }, (socket) => {
    const connection = new Http2Connection({ ...init, role: 'server', now: () => performance.now() })
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

/** Connects to a port. */
export async function connect(
  port: number,
  init: Omit<Http2Init, 'role' | 'now'> = {}
): Promise<{ readonly connection: Http2Connection; readonly session: Session }> {
  const connection = new Http2Connection({ ...init, role: 'client', now: () => performance.now() })
  return new Promise((resolve, reject) => {
    const { signal } = new AbortController()
    nativeSockets
      .connect(
        { host: '127.0.0.1', port },
        (socket) => {
          const session = new Session(socket, OPTIONS, connection)
          connection.open(session)
          resolve({ connection, session })
          return session
        },
        signal
      )
      .catch(reject)
  })
}

/** Sends bytes to a port, and resolves with everything that comes back until the other end closes. */
export function exchange(port: number, bytes: Uint8Array): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const socket = connectTcp({ host: '127.0.0.1', port }, () => socket.write(bytes))
    const chunks: Buffer[] = []
    socket.on('data', (chunk) => chunks.push(chunk))
    socket.on('close', () => resolve(Buffer.concat(chunks)))
    socket.on('error', reject)
  })
}

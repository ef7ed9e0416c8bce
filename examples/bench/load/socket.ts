/** TCP connections for loads, with the native sockets of each runtime, which cost least. */
import { connect } from 'node:net'
import { currentRuntime } from '../process/runtime.ts'

export interface LoadSocket {
  /**
   * Writes up to `length` bytes from `offset`, and returns how many the socket has accepted: `drained` asks for the
   * rest.
   */
  write(bytes: Uint8Array, offset: number, length: number): number
  end(): void
  /** Closes at once; `lost` may or may not be called. */
  terminate(): void
}

export interface SocketEvents {
  received(chunk: Uint8Array): void
  drained(): void
  /** The connection has ended, closed by either side. May be called more than once. */
  lost(reason: unknown): void
}

/** Connects. Rejects if the server cannot be reached. */
export type ConnectSocket = (host: string, port: number, events: SocketEvents) => Promise<LoadSocket>

const connectInBun: ConnectSocket = (hostname, port, { received, drained, lost }) =>
  Bun.connect({
    hostname,
    port,
    socket: {
      data: (_socket, chunk) => received(chunk),
      drain: drained,
      close: () => lost('connection closed'),
      error: (_socket, error) => lost(error)
    }
  })

const connectInNode: ConnectSocket = (host, port, { received, lost }) =>
  new Promise((resolve, reject) => {
    const socket = connect({ host, port, noDelay: true })
    socket.once('error', reject)
    socket.once('connect', () => {
      socket.off('error', reject)
      socket.on('error', lost)
      socket.on('close', () => lost('connection closed'))
      socket.on('data', received)
      resolve({
        // Node queues bytes that the system does not accept. The bytes are not copied.
        write: (bytes, offset, length) => {
          socket.write(bytes.subarray(offset, offset + length))
          return length
        },
        end: () => void socket.end(),
        terminate: () => void socket.destroy()
      })
    })
  })

export const connectSocket: ConnectSocket = currentRuntime === 'bun' ? connectInBun : connectInNode

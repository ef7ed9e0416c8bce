/** TCP connections as a load needs them, on either runtime's own sockets: the cheapest there are. */
import { connect } from 'node:net'
import { currentRuntime } from '../process/runtime.ts'

export interface LoadSocket {
  /** Sends `length` bytes from `offset` as far as it takes them now and returns how many: `drained` asks for the rest. */
  write(bytes: Uint8Array, offset: number, length: number): number
  end(): void
  /** Ends at once; `lost` may be called or not. */
  terminate(): void
}

export interface SocketEvents {
  received(chunk: Uint8Array): void
  drained(): void
  /** The connection is gone, ended by either side. May be called more than once. */
  lost(reason: unknown): void
}

/** Connects; rejects when the server cannot be reached. */
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
        // Node queues what the system does not take. The bytes are handed over, not copied.
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

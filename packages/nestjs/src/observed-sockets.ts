/** Sockets that tell when they are connected and when they are closed; otherwise those they are made of. */
import type { SocketRuntime } from '@elysia-microservices/transport'

/** Is told of the sockets a client makes. */
export interface SocketObserver {
  connected(): void
  /** Once for each that was connected. */
  closed(error: Error | undefined): void
  /** A socket could not be connected. */
  failed(error: Error): void
}

/** The same sockets, observed. */
export function observeSockets(sockets: SocketRuntime, observer: SocketObserver): SocketRuntime {
  return {
    listen: (address, accept) => sockets.listen(address, accept),
    async connect(address, accept, signal) {
      try {
        await sockets.connect(
          address,
          (socket) => {
            const listener = accept(socket)
            observer.connected()
            return {
              data: (chunk) => listener.data(chunk),
              eof: () => listener.eof(),
              drain: () => listener.drain(),
              close(error) {
                listener.close(error)
                observer.closed(error)
              }
            }
          },
          signal
        )
      } catch (error) {
        observer.failed(error as Error)
        throw error
      }
    }
  }
}

/** Servers inside a test, on a port of loopback: for drivers that must be tested over a real socket. */
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'

export abstract class SocketServer {
  readonly sockets = new Set<Socket>()
  port = 0
  readonly #server = createServer((socket) => {
    this.sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => this.sockets.delete(socket))
    this.serve(socket)
  })

  /** A client has connected. */
  protected abstract serve(socket: Socket): void

  /** Listens on any port that is free; after `close` on the same one again. */
  async listen(): Promise<this> {
    this.#server.listen(this.port, '127.0.0.1')
    await once(this.#server, 'listening')
    this.port = (this.#server.address() as AddressInfo).port
    return this
  }

  /** How many sockets are open. */
  get open(): number {
    return this.sockets.size
  }

  /** Ends all sockets, without a word. */
  cut(): void {
    for (const socket of this.sockets) socket.destroy()
  }

  /** Ends all, and listens no more. */
  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve))
    this.cut()
    await closed
  }
}

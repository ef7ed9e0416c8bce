/**
 * Sockets without an operating system: the bytes of one side are passed to the other side, or to a test between them.
 */
import type { AcceptSocket, Socket, SocketListener, SocketRuntime } from '@elysia-microservices/tcp/kit'

/** One end of a connection. */
export class MemorySocket implements Socket {
  readonly remoteAddress = '127.0.0.1'
  readonly remotePort = 1
  readonly unsent = 0
  closed = false
  listener: SocketListener = { data() {}, eof() {}, drain() {}, close() {} }
  readonly #written: (bytes: Buffer) => void
  readonly #ended: () => void

  /**
   * @param written is called with what this end writes
   * @param ended is called when this end has closed
   */
  constructor(written: (bytes: Buffer) => void, ended: () => void) {
    this.#written = written
    this.#ended = ended
  }

  write(text: string): void {
    if (!this.closed) this.#written(Buffer.from(text))
  }

  writeBytes(bytes: Uint8Array, length: number): void {
    if (!this.closed) this.#written(Buffer.from(bytes.subarray(0, length)))
  }

  pause(): void {}

  resume(): void {}

  end(): void {
    this.destroy()
  }

  destroy(): void {
    if (this.closed) return
    this.closed = true
    // In a microtask, so that it never interrupts the listener.
    queueMicrotask(() => {
      this.listener.close()
      this.#ended()
    })
  }
}

/** A server socket without a port: a test makes its connections. */
export class MemoryPort {
  #accept: AcceptSocket | undefined
  readonly #sockets: SocketRuntime = {
    listen: async (_address, accept) => {
      this.#accept = accept
      return { address: { host: 'memory', port: 1 }, stop: () => {} }
    },
    connect: async () => {
      throw new Error('This port only listens')
    }
  }

  /** Options of a server on this port. `sockets` is for tests, and not part of the public types. */
  serverOptions(): object {
    return { sockets: this.#sockets }
  }

  /** Opens a connection. @returns the server's end, whose `listener` receives what the peer sends */
  connect(written: (bytes: Buffer) => void, ended: () => void = () => {}): MemorySocket {
    const socket = new MemorySocket(written, ended)
    socket.listener = (this.#accept as AcceptSocket)(socket)
    return socket
  }

  /**
   * Options of a client of this port.
   * @param change receives what the server sends, chunk by chunk, and returns what arrives
   */
  clientOptions(
    change: (bytes: Buffer) => Buffer = (bytes) => bytes,
    seen: (bytes: Buffer) => void = () => {}
  ): object {
    const sockets: SocketRuntime = {
      listen: () => Promise.reject(new Error('These sockets only connect')),
      connect: async (_address, accept) => {
        const server = this.connect(
          (bytes) => queueMicrotask(() => !client.closed && client.listener.data(change(bytes))),
          () => client.destroy()
        )
        const client: MemorySocket = new MemorySocket(
          (bytes) => {
            seen(bytes)
            queueMicrotask(() => !server.closed && server.listener.data(bytes))
          },
          () => server.destroy()
        )
        client.listener = accept(client)
      }
    }
    return { sockets }
  }
}

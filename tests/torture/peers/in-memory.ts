/** Sockets without a system: the bytes of one side are handed to the other, or to a test between them. */
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
   * @param written gets what this end writes
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
    // Never in the middle of what the listener is doing.
    queueMicrotask(() => {
      this.listener.close()
      this.#ended()
    })
  }
}

/** A server that listens nowhere: connections are made by hand. */
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

  /** Options of a server on this port. `sockets` is for tests: the types of users do not have it. */
  serverOptions(): object {
    return { sockets: this.#sockets }
  }

  /** Connects; the end of the server, whose `listener` takes what the peer sends. */
  connect(written: (bytes: Buffer) => void, ended: () => void = () => {}): MemorySocket {
    const socket = new MemorySocket(written, ended)
    socket.listener = (this.#accept as AcceptSocket)(socket)
    return socket
  }

  /**
   * Options of a client of this port.
   * @param change is given what the server says, chunk by chunk, and says what of it arrives
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

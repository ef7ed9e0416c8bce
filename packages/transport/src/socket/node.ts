/** Sockets of `node:net`: Node, and every runtime that offers its module. */
import net from 'node:net'
import type { AcceptSocket, ListeningSocket, Socket, SocketAddress, SocketRuntime } from './socket.ts'

/** The adapter for Node. */
export const nodeSockets: SocketRuntime = {
  listen(address, accept) {
    return new Promise((resolve, reject) => {
      // Without noDelay, answers of a batch wait some 40 ms for the peer's delayed acknowledgement.
      const server = net.createServer({ noDelay: true }, (socket) => attach(socket, accept))
      server.once('error', reject)
      server.listen({ host: address.host, port: address.port }, () => {
        server.off('error', reject)
        resolve(new NodeListeningSocket(server, address.host))
      })
    })
  },

  connect(address, accept, signal) {
    return new Promise((resolve, reject) => {
      const socket = net.connect({ host: address.host, port: address.port, noDelay: true })
      const abort = () => socket.destroy(signal.reason as Error)
      signal.addEventListener('abort', abort, { once: true })
      socket.once('error', reject)
      socket.once('connect', () => {
        signal.removeEventListener('abort', abort)
        socket.off('error', reject)
        attach(socket, accept)
        resolve()
      })
    })
  }
}

class NodeListeningSocket implements ListeningSocket {
  readonly address: SocketAddress
  readonly #server: net.Server

  constructor(server: net.Server, host: string) {
    this.#server = server
    this.address = { host, port: (server.address() as net.AddressInfo).port }
  }

  stop(): void {
    this.#server.close()
  }
}

class NodeSocket implements Socket {
  readonly #socket: net.Socket
  readonly remoteAddress: string | undefined
  readonly remotePort: number | undefined

  constructor(socket: net.Socket) {
    this.#socket = socket
    this.remoteAddress = socket.remoteAddress
    this.remotePort = socket.remotePort
  }

  get unsent(): number {
    return this.#socket.writableLength
  }

  write(text: string): void {
    this.#socket.write(text, 'utf8')
  }

  writeBytes(bytes: Uint8Array, length: number): void {
    // Node keeps the buffer it is given until the kernel has taken it.
    this.#socket.write(Buffer.from(bytes.subarray(0, length)))
  }

  end(): void {
    this.#socket.end()
  }

  destroy(): void {
    this.#socket.destroy()
  }
}

function attach(socket: net.Socket, accept: AcceptSocket): void {
  const listener = accept(new NodeSocket(socket))
  let failure: Error | undefined
  socket.on('data', (chunk) => listener.data(chunk as Buffer))
  socket.on('drain', () => listener.drain())
  socket.on('error', (error) => {
    failure = error
  })
  socket.on('close', () => listener.close(failure))
}

/** Sockets of `node:net`, for Node and every runtime with this module. `node:tls` is loaded only if TLS is used. */
import net from 'node:net'
import { attach, listenOn, NodeSocket } from './node-socket.ts'
import type { ListeningSocket, SocketAddress, SocketRuntime } from './socket.ts'

/** The adapter for Node. */
export const nodeSockets: SocketRuntime = {
  async listen(address, accept) {
    if (address.tls !== undefined) return (await import('./tls-listener.ts')).listenTls(address, accept)
    // Without noDelay, answers may wait some 40 ms for the peer's delayed acknowledgement.
    const server = net.createServer({ noDelay: true }, (socket) =>
      attach(socket, new NodeSocket(socket), accept)
    )
    return new NodeListeningSocket(server, await listenOn(server, address))
  },

  async connect(address, accept, signal) {
    if (address.tls !== undefined)
      return (await import('./tls-connect.ts')).connectTls(address, accept, signal)
    // The attempt may have been cancelled while this module was loaded.
    signal.throwIfAborted()
    return new Promise((resolve, reject) => {
      const { host, port, path } = address
      const socket = net.connect(path === undefined ? { host, port, noDelay: true } : { path })
      const abort = () => socket.destroy(signal.reason as Error)
      signal.addEventListener('abort', abort, { once: true })
      socket.once('error', reject)
      socket.once('connect', () => {
        signal.removeEventListener('abort', abort)
        socket.off('error', reject)
        attach(socket, new NodeSocket(socket), accept)
        resolve()
      })
    })
  }
}

class NodeListeningSocket implements ListeningSocket {
  readonly address: SocketAddress
  readonly #server: net.Server

  constructor(server: net.Server, address: SocketAddress) {
    this.#server = server
    this.address = address
  }

  stop(): void {
    this.#server.close()
  }
}

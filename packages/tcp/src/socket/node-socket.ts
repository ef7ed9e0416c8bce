/** A stream of `node:net` or `node:tls` as a socket of this library. Loads neither. */
import type { AddressInfo, ListenOptions, Socket as NetSocket, Server } from 'node:net'
import type { AcceptSocket, ListenAddress, Socket, SocketAddress } from './socket.ts'

/** What both kinds have in common: all there is to a plain one. */
export class NodeSocket implements Socket {
  readonly #socket: NetSocket
  readonly remoteAddress: string | undefined
  readonly remotePort: number | undefined

  constructor(socket: NetSocket) {
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

/**
 * Joins a stream with whoever listens to it.
 * @param explain says why it was closed, given the error of the stream
 */
export function attach(
  stream: NetSocket,
  socket: Socket,
  accept: AcceptSocket,
  explain: (error: Error | undefined) => Error | undefined = (error) => error
): void {
  const listener = accept(socket)
  let failure: Error | undefined
  stream.on('data', (chunk) => listener.data(chunk as Buffer))
  // Before the stream's own listener, which ends the other direction.
  stream.prependListener('end', () => listener.eof())
  stream.on('drain', () => listener.drain())
  stream.on('error', (error) => {
    failure = error
  })
  stream.on('close', () => listener.close(explain(failure)))
}

/** Starts to listen; where it does. */
export function listenOn(
  server: Server,
  { host, port, path, reusePort }: ListenAddress
): Promise<SocketAddress> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(path === undefined ? ({ host, port, reusePort } as ListenOptions) : { path }, () => {
      server.off('error', reject)
      resolve(
        path === undefined
          ? { host, port: (server.address() as AddressInfo).port }
          : { host: '', port: 0, path }
      )
    })
  })
}

/** Turns a stream of `node:net` or `node:tls` into a socket of this library. Loads neither module. */
import type { AddressInfo, ListenOptions, Socket as NetSocket, Server } from 'node:net'
import type { Socket } from '@elysia-microservices/rsocket/session'
import type { AcceptSocket, ListenAddress, SocketAddress } from './socket.ts'

/** A socket on a stream of `node:net`, and the base of `TlsSocket`. */
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
    // The bytes are copied, because Node uses the buffer until the kernel has taken it.
    this.#socket.write(Buffer.from(bytes.subarray(0, length)))
  }

  pause(): void {
    this.#socket.pause()
  }

  resume(): void {
    this.#socket.resume()
  }

  end(): void {
    this.#socket.end()
  }

  destroy(): void {
    this.#socket.destroy()
  }
}

/**
 * Connects a stream to the listener that `accept` returns.
 * @param explain turns the error of the stream into the reason for `close`
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
  // This listener is added before the stream's own listener, because that listener ends the other direction.
  stream.prependListener('end', () => listener.eof())
  stream.on('drain', () => listener.drain())
  stream.on('error', (error) => {
    failure = error
  })
  stream.on('close', () => listener.close(explain(failure)))
}

/** Starts to listen. Resolves with the address. */
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

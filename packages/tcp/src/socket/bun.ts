/**
 * Sockets of `Bun.listen` and `Bun.connect`, which cost less per message than Bun's `node:net`. TLS uses `node:tls`,
 * which is loaded only if TLS is used.
 */

import { NOBODY, type Socket, type SocketListener } from '@elysia-microservices/rsocket/session'
import type { Socket as NativeSocket, SocketHandler } from 'bun'
import type { AcceptSocket, SocketRuntime } from './socket.ts'

/** The adapter for Bun. */
export const bunSockets: SocketRuntime = {
  async listen(address, accept) {
    if (address.tls !== undefined) return (await import('./tls-listener.ts')).listenTls(address, accept)
    const { host, port, path, reusePort = false } = address
    const socket = handlersFor(accept)
    if (path !== undefined) {
      const server = Bun.listen<BunSocket>({ unix: path, socket })
      return { address: { host: '', port: 0, path }, stop: () => server.stop() }
    }
    // `reusePort` is missing in Bun's types.
    const options = { hostname: host, port, reusePort, socket }
    const server = Bun.listen<BunSocket>(options)
    return { address: { host, port: server.port }, stop: () => server.stop() }
  },

  async connect(address, accept, signal) {
    if (address.tls !== undefined)
      return (await import('./tls-connect.ts')).connectTls(address, accept, signal)
    signal.throwIfAborted()
    return new Promise((resolve, reject) => {
      const abort = () => reject(signal.reason as Error)
      signal.addEventListener('abort', abort, { once: true })
      const acceptUnlessAborted: AcceptSocket = (socket) => {
        signal.removeEventListener('abort', abort)
        if (!signal.aborted) return accept(socket)
        // The attempt has succeeded after it was cancelled, so the socket is not needed.
        queueMicrotask(() => socket.destroy())
        return NOBODY
      }
      const { host, port, path } = address
      const socket = handlersFor(acceptUnlessAborted)
      const connecting =
        path === undefined
          ? Bun.connect<BunSocket>({ hostname: host, port, socket })
          : Bun.connect<BunSocket>({ unix: path, socket })
      connecting.then(() => resolve(), reject)
    })
  }
}

class BunSocket implements Socket {
  readonly #native: NativeSocket<BunSocket>
  listener: SocketListener = NOBODY
  /** Bytes that the kernel has not taken yet, in order. */
  #pending: Uint8Array[] = []
  #unsent = 0
  #ending = false

  constructor(native: NativeSocket<BunSocket>) {
    this.#native = native
  }

  get remoteAddress(): string | undefined {
    return this.#native.remoteAddress
  }

  get remotePort(): number | undefined {
    return this.#native.remotePort
  }

  get unsent(): number {
    return this.#unsent
  }

  write(text: string): void {
    if (this.#unsent > 0) return this.#keep(Buffer.from(text))
    const written = this.#native.write(text)
    if (written >= text.length && written >= Buffer.byteLength(text)) return
    // -1 means that the socket is closed; the listener is told by the close event.
    if (written >= 0) this.#keep(Buffer.from(text).subarray(written))
  }

  writeBytes(bytes: Uint8Array, length: number): void {
    const written = this.#unsent > 0 ? 0 : this.#native.write(bytes, 0, length)
    if (written < length && written >= 0) this.#keep(Buffer.from(bytes.subarray(written, length)))
  }

  pause(): void {
    this.#native.pause()
  }

  resume(): void {
    this.#native.resume()
  }

  end(): void {
    this.#ending = true
    if (this.#unsent === 0) this.#native.shutdown()
  }

  destroy(): void {
    this.#pending = []
    this.#unsent = 0
    this.#native.end()
  }

  /** The kernel takes bytes again. */
  flush(): void {
    let sent = 0
    for (const bytes of this.#pending) {
      const written = Math.max(0, this.#native.write(bytes))
      this.#unsent -= written
      if (written < bytes.length) {
        this.#pending[sent] = bytes.subarray(written)
        break
      }
      sent++
    }
    if (sent > 0) this.#pending.splice(0, sent)
    if (this.#unsent === 0 && this.#ending) this.#native.shutdown()
    this.listener.drain()
  }

  #keep(bytes: Uint8Array): void {
    if (bytes.length === 0) return
    this.#pending.push(bytes)
    this.#unsent += bytes.length
  }
}

function handlersFor(accept: AcceptSocket): SocketHandler<BunSocket> {
  return {
    open(native) {
      native.setNoDelay(true)
      const socket = new BunSocket(native)
      native.data = socket
      socket.listener = accept(socket)
    },
    data(native, chunk) {
      native.data.listener.data(chunk)
    },
    drain(native) {
      native.data.flush()
    },
    close(native, error) {
      native.data.listener.close(error)
    },
    error(native) {
      // A listener has thrown, which is a bug. The close event follows.
      native.terminate()
    }
  }
}

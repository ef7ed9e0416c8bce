/** Closes connections beyond `limits.connections`, and tells the peer the reason if its protocol allows. */

import { ErrorCode, writeError } from '@elysia-microservices/rsocket'
import type { Socket, SocketListener } from '@elysia-microservices/rsocket/session'
import { ByteWriter } from '@elysia-microservices/transport/kit'
import { detectProtocol } from './detect.ts'

/** Milliseconds within which a refused peer must send its first bytes and close. */
const CLOSE_TIMEOUT = 2_000
/** Most refused peers that are told the reason at the same time. Other connections are cut. */
export const MOST_TOLD = 100

const NOBODY: SocketListener = { data() {}, eof() {}, drain() {}, close() {} }

/** Refuses the sockets for which a server has no room. */
export class RefusedConnections {
  readonly #open = new Set<Socket>()

  /**
   * Returns a listener that refuses the socket.
   * @param reason the reason for the peer
   */
  refuse(socket: Socket, reason: string): SocketListener {
    if (this.#open.size >= MOST_TOLD) {
      // The socket is destroyed in a microtask, because the runtime must first get the listener of the socket.
      queueMicrotask(() => socket.destroy())
      return NOBODY
    }
    this.#open.add(socket)
    const timer = setTimeout(() => socket.destroy(), CLOSE_TIMEOUT).unref()
    let told = false
    return {
      data: (chunk) => {
        if (told) return
        told = true
        if (detectProtocol(chunk[0] ?? 0) === 'rsocket') {
          const out = new ByteWriter()
          writeError(out, 0, ErrorCode.REJECTED_SETUP, reason)
          socket.writeBytes(out.buffer, out.length)
        }
        socket.end()
      },
      eof() {},
      drain() {},
      close: () => {
        clearTimeout(timer)
        this.#open.delete(socket)
      }
    }
  }

  /** Closes all remaining sockets, because the server stops. */
  stop(): void {
    for (const socket of this.#open) socket.destroy()
  }
}

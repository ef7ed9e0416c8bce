/**
 * Closes connections beyond `limits.connections`. Their clients are told by GOAWAY that no call has begun, so that they make
 * their calls elsewhere. RFC 9113, section 6.8.
 */
import type { Socket, SocketListener } from '@elysia-microservices/rsocket/session'
import { ByteWriter } from '@elysia-microservices/transport/kit'
import { ErrorCode } from '../http2/error-code.ts'
import { writeGoAway, writeSettings } from '../http2/frames.ts'

/** Milliseconds within which a refused client must send its first bytes and close. */
const CLOSE_TIMEOUT = 2_000
/** Most refused clients that are told the reason at the same time. Other connections are cut. */
export const MOST_TOLD = 100

const NOBODY: SocketListener = { data() {}, eof() {}, drain() {}, close() {} }

/** Refuses the sockets for which a server has no room. */
export class RefusedConnections {
  readonly #open = new Set<Socket>()

  /**
   * Returns a listener that refuses the socket.
   * @param reason the reason for the client
   */
  refuse(socket: Socket, reason: string): SocketListener {
    if (this.#open.size >= MOST_TOLD) {
      // The socket is destroyed in a microtask, because the runtime must first get the listener of the socket.
      queueMicrotask(() => socket.destroy())
      return NOBODY
    }
    this.#open.add(socket)
    const timer = setTimeout(() => socket.destroy(), CLOSE_TIMEOUT).unref()
    let isTold = false
    return {
      data: () => {
        if (isTold) return
        isTold = true
        const out = new ByteWriter()
        writeSettings(out, [])
        writeGoAway(out, 0, ErrorCode.ENHANCE_YOUR_CALM, reason)
        socket.writeBytes(out.buffer, out.length)
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

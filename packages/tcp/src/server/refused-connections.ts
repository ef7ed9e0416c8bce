/** Connections beyond `limits.connections`: each is told so, if its protocol can, and closed. */
import { ByteWriter } from '@elysia-microservices/transport/kit'
import { detectProtocol } from '../connection/detect.ts'
import { ErrorCode } from '../rsocket/frame-type.ts'
import { writeError } from '../rsocket/frames.ts'
import type { Socket, SocketListener } from '../socket/socket.ts'

/** Milliseconds a refused peer may take to say what it speaks, and then to close. */
const CLOSE_TIMEOUT = 2_000
/** Refused peers that are told at the same time. A flood of them is just cut off. */
const MAX_AT_ONCE = 100

const NOBODY: SocketListener = { data() {}, eof() {}, drain() {}, close() {} }

/** Takes the sockets that a server has no room for. */
export class RefusedConnections {
  readonly #open = new Set<Socket>()

  /** Says who listens to the socket until it is closed. @param reason for the peer */
  refuse(socket: Socket, reason: string): SocketListener {
    if (this.#open.size >= MAX_AT_ONCE) {
      // Not before its adapter has seen it accepted.
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

  /** The server stops: closes what is left. */
  stop(): void {
    for (const socket of this.#open) socket.destroy()
  }
}

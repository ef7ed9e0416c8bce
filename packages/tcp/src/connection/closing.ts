/** The end of a connection, from the moment that somebody wants it. */
import type { Socket } from '../socket/socket.ts'

/** Milliseconds a peer has to close, once it was told to or got our FIN. */
const CLOSE_TIMEOUT = 2_000

/** One connection's end. Made when it is wanted. */
export class Closing {
  readonly #socket: Socket
  /** Resolves when the socket is closed. */
  readonly closed: Promise<void>
  #resolve!: () => void
  #timer: ReturnType<typeof setTimeout> | undefined
  /** The connection ends when nothing is in flight. */
  isDraining = false
  /** The peer was told that this side stops, and closes by itself. */
  peerCloses = false

  constructor(socket: Socket) {
    this.#socket = socket
    this.closed = new Promise((resolve) => {
      this.#resolve = resolve
    })
  }

  /** Nothing is in flight any more. A request that crossed our word on its way is still refused properly. */
  leave(finish: () => void): void {
    if (!this.peerCloses) return finish()
    this.#timer ??= setTimeout(finish, CLOSE_TIMEOUT).unref()
  }

  /** Sends FIN, and waits for the peer's. */
  finish(): void {
    this.#socket.end()
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#socket.destroy(), CLOSE_TIMEOUT).unref()
  }

  /** The socket is closed: a flood of bad connections would keep their timers otherwise. */
  end(): void {
    clearTimeout(this.#timer)
    this.#resolve()
  }
}

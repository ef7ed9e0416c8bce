/** The end of a connection, from the moment this side begins it. */
import { unref } from '../host.ts'
import type { Socket } from './socket.ts'

/** Milliseconds that a peer has to close after it was told to, or after our FIN. */
const CLOSE_TIMEOUT = 2_000

/** Ends one connection. Made only when the end begins. */
export class Closing {
  readonly #socket: Socket
  /** Resolves when the socket is closed. */
  readonly closed: Promise<void>
  #resolve!: () => void
  #timer: ReturnType<typeof setTimeout> | undefined
  /** Whether the connection ends as soon as nothing is in flight. */
  isDraining = false
  /** Whether the peer was told that this side stops, and closes by itself. */
  peerCloses = false

  constructor(socket: Socket) {
    this.#socket = socket
    this.closed = new Promise((resolve) => {
      this.#resolve = resolve
    })
  }

  /** Nothing is in flight. Gives the peer time to close, so that requests it sent meanwhile are still refused properly. */
  leave(finish: () => void): void {
    if (!this.peerCloses) return finish()
    this.#timer ??= unref(setTimeout(finish, CLOSE_TIMEOUT))
  }

  /** Sends FIN, and waits for the peer's. */
  finish(): void {
    this.#socket.end()
    clearTimeout(this.#timer)
    this.#timer = unref(setTimeout(() => this.#socket.destroy(), CLOSE_TIMEOUT))
  }

  /** The socket is closed. Stops the timer, because timers would pile up in a flood of bad connections. */
  end(): void {
    clearTimeout(this.#timer)
    this.#resolve()
  }
}

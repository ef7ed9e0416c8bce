/** How a connection is closed: from the first step of this side until its socket has ended. */
import { unref } from '../host.ts'
import type { Socket } from './socket.ts'

/** Milliseconds that the peer has for closing after it was told to close, or after our FIN. */
const CLOSE_TIMEOUT = 2_000

/** Closes one connection. The object is made only when the closing begins. */
export class Closing {
  readonly #socket: Socket
  /** Resolves when the socket is closed. */
  readonly closed: Promise<void>
  #resolve!: () => void
  #timer: ReturnType<typeof setTimeout> | undefined
  /** Whether the connection ends as soon as nothing is in flight. */
  isDraining = false
  /** Whether the peer was told that this side stops, so that the peer closes the connection itself. */
  peerCloses = false

  constructor(socket: Socket) {
    this.#socket = socket
    this.closed = new Promise((resolve) => {
      this.#resolve = resolve
    })
  }

  /**
   * Nothing is in flight: gives the peer time to close, so that requests which the peer sent meanwhile are still
   * refused with an error.
   */
  leave(finish: () => void): void {
    if (!this.peerCloses) return finish()
    this.#timer ??= unref(setTimeout(finish, CLOSE_TIMEOUT))
  }

  /** Sends FIN, and waits for the FIN of the peer. */
  finish(): void {
    this.#socket.end()
    clearTimeout(this.#timer)
    this.#timer = unref(setTimeout(() => this.#socket.destroy(), CLOSE_TIMEOUT))
  }

  /** The socket is closed: stops the timer, because many bad connections would leave many timers. */
  end(): void {
    clearTimeout(this.#timer)
    this.#resolve()
  }
}

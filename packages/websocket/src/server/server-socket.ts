/** The socket of a session, on top of a server's WebSocket of any runtime. */
import type { Socket, SocketListener } from '@elysia-microservices/rsocket/session'
import { text } from '@elysia-microservices/transport/kit'
import { framesOf, sendFrames } from '../wire/messages.ts'

/** Close codes of WebSockets (RFC 6455, 7.4.1). */
export const CloseCode = { NORMAL: 1000, UNSUPPORTED_DATA: 1003, MESSAGE_TOO_BIG: 1009 } as const

/** The interface to a runtime's WebSocket. */
export interface RawSocket {
  /** The number of bytes that the system has not accepted yet. */
  readonly unsent: number
  /** Sends a message, whose bytes the caller may change afterwards. Returns false if the message was dropped. */
  send(message: Uint8Array): boolean
  close(code: number): void
  terminate(): void
  pause(): void
  resume(): void
}

/** The events of a runtime's WebSocket. */
export interface RawListener {
  message(message: string | Uint8Array): void
  drain(): void
  close(error?: Error): void
}

/** A socket that sends bytes as WebSocket messages. */
export class ServerSocket implements Socket {
  readonly remoteAddress: string | undefined
  readonly remotePort: number | undefined
  readonly #raw: RawSocket
  readonly #byTurns: boolean
  /** The code with which the socket will be closed. */
  closeCode: number = CloseCode.NORMAL

  constructor(
    raw: RawSocket,
    byTurns: boolean,
    { address, port }: { readonly address: string | undefined; readonly port: number | undefined }
  ) {
    this.#raw = raw
    this.#byTurns = byTurns
    this.remoteAddress = address
    this.remotePort = port
  }

  get unsent(): number {
    return this.#raw.unsent
  }

  write(given: string): void {
    const bytes = text.allocate(given.length * 3)
    this.writeBytes(bytes, text.write(bytes, given, 0))
  }

  writeBytes(bytes: Uint8Array, length: number): void {
    let isWhole = true
    sendFrames(bytes, length, this.#byTurns, (message) => {
      if (isWhole) isWhole = this.#raw.send(message)
    })
    // If a frame is lost, the connection cannot continue.
    if (!isWhole) this.destroy()
  }

  pause(): void {
    this.#raw.pause()
  }

  resume(): void {
    this.#raw.resume()
  }

  end(): void {
    this.#raw.close(this.closeCode)
  }

  destroy(): void {
    this.#raw.terminate()
  }
}

/**
 * Converts messages to the bytes of frames, and passes these to a session.
 * @param refuse called for a text message
 */
export function rawListener(listener: SocketListener, byTurns: boolean, refuse: () => void): RawListener {
  return {
    message(message) {
      if (typeof message === 'string') refuse()
      else listener.data(framesOf(message, byTurns))
    },
    drain: () => listener.drain(),
    close: (error) => listener.close(error)
  }
}

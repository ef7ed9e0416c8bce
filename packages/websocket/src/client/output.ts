/** Writes the frames of a client's connection to a standard `WebSocket`, collected for each turn of the event loop. */
import type { ClientConnection, FrameOutput } from '@elysia-microservices/rsocket'
import { Outbox } from '@elysia-microservices/rsocket/session'
import { type ByteWriter, ProtocolError } from '@elysia-microservices/transport/kit'
import { framesOf, sendFrames, TURNS } from '../wire/messages.ts'
import { closeReason, release, type WebSocketLike } from './web-socket.ts'

/** Milliseconds between two checks of a socket whose buffer is full. Browsers have no event for it. */
const LOOK = 20
/** Milliseconds that the server may take to close the socket from its side. */
const CLOSE_TIMEOUT = 2_000

/** Connects the protocol of a client with its socket. */
export class WebSocketOutput implements FrameOutput {
  /** Whether the server accepts all frames of a turn in one message, as servers of this library do. */
  readonly byTurns: boolean
  isBlocked = false
  /** The number of messages that have been received. */
  received = 0
  readonly #socket: WebSocketLike
  readonly #protocol: ClientConnection
  readonly #maxUnsent: number
  readonly #closed: (reason: Error) => void
  readonly #outbox: Outbox
  #isAsked = false
  #isDraining = false
  #isEnding = false
  #isClosed = false
  #closing: ReturnType<typeof setTimeout> | undefined

  /** @param closed called once, when the socket is closed */
  constructor(
    socket: WebSocketLike,
    protocol: ClientConnection,
    maxUnsent: number,
    closed: (reason: Error) => void
  ) {
    this.#socket = socket
    this.#protocol = protocol
    this.#maxUnsent = maxUnsent
    this.#closed = closed
    this.byTurns = socket.protocol === TURNS
    this.#outbox = new Outbox({
      get unsent() {
        return socket.bufferedAmount
      },
      // Only Nest's protocol writes text; RSocket writes only bytes.
      write() {},
      writeBytes: (bytes, length) =>
        sendFrames(bytes, length, this.byTurns, (message) => socket.send(message as Uint8Array<ArrayBuffer>))
    })
    socket.onmessage = ({ data }: { readonly data: unknown }) => {
      this.received++
      if (data instanceof ArrayBuffer) protocol.receive(framesOf(new Uint8Array(data), this.byTurns))
      else
        this.destroy(new ProtocolError('a text message was received, but RSocket uses only binary messages'))
    }
    socket.onclose = (event: never) => this.#close(closeReason(event))
  }

  get unsent(): number {
    return this.#outbox.unsent
  }

  attach(bytes: ByteWriter): void {
    this.#outbox.attach(bytes)
  }

  committed(): void {
    if (this.#isEnding) this.#outbox.clear()
    else if (this.#outbox.isFull) this.#write()
    else if (!this.#isAsked) {
      this.#isAsked = true
      queueMicrotask(() => {
        this.#isAsked = false
        this.#write()
        this.settled()
      })
    }
  }

  #write(): void {
    if (this.#isEnding || this.#outbox.isEmpty) return
    const tooMuch = this.#outbox.write(this.#maxUnsent)
    if (tooMuch !== undefined) return this.destroy(tooMuch)
    if (this.isBlocked || !this.#outbox.isBlocked) return
    this.isBlocked = true
    this.#look()
  }

  #look(): void {
    setTimeout(() => {
      if (this.#isClosed) return
      if (!this.#outbox.unblock()) return this.#look()
      this.isBlocked = false
      this.goOn()
      this.#outbox.resumeStreams()
    }, LOOK)
  }

  hasRoomFor(stream: Parameters<Outbox['hasRoomFor']>[0]): boolean {
    return !this.#isEnding && this.#outbox.hasRoomFor(stream)
  }

  goOn(): void {
    if (!this.#isEnding) this.#protocol.resume()
  }

  /** Closes the socket when nothing is in flight. */
  drain(): void {
    this.#isDraining = true
    this.#protocol.drain()
    this.settled()
  }

  settled(): void {
    if (this.#isDraining && this.#protocol.inFlight === 0) this.end()
  }

  end(reason?: Error): void {
    if (this.#isEnding) return
    this.#write()
    this.#stop()
    this.#socket.close(1000)
    this.#closing = setTimeout(() => this.destroy(reason), CLOSE_TIMEOUT)
  }

  destroy(reason: Error = new Error('this end has closed the WebSocket')): void {
    if (this.#isClosed) return
    this.#stop()
    this.#socket.close()
    this.#close(reason)
  }

  #close(reason: Error): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#stop()
    clearTimeout(this.#closing)
    release(this.#socket)
    this.#closed(reason)
  }

  /** Nothing more is sent: the streams of this side end at once, and do not wait until the socket is closed. */
  #stop(): void {
    if (this.#isEnding) return
    this.#isEnding = true
    this.#outbox.clear()
    this.#protocol.discard()
  }
}

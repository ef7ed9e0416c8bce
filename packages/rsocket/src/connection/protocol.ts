/**
 * The interfaces between a session and its protocol. Protocols are sans-I/O: they receive chunks and send text or bytes
 * through `Output`. Sockets, timers and turns of the event loop belong to the session.
 */
import type { ByteWriter, OpenCalls } from '@elysia-microservices/transport/kit'
import type { Socket } from './socket.ts'

/** The protocol of one connection, as its session uses it. */
export interface ProtocolConnection {
  /**
   * Takes a chunk, which may contain parts of frames.
   * @throws {ProtocolError | PayloadTooLargeError} the bytes are not allowed; the session ends the connection
   */
  receive(chunk: Uint8Array): void
  /** Handles the input that was held back, after `Output.isBlocked` has become false. Throws like `receive`. */
  resume(): void
  /** Whether a message has begun to arrive and is not complete. */
  readonly incomplete: boolean
  /** Number of characters or bytes that were received and not yet handled. */
  readonly buffered: number
  /** Number of requests and events in flight. */
  readonly inFlight: number
  /** Number of events in flight; they go on when the connection is closed. */
  readonly events?: number
  /** Number of streams that this side sends. */
  readonly streams?: number
  /** Whether whole messages wait because the server has no room for more work. */
  readonly isHeldBack?: boolean
  /**
   * Whether the peer, once it is told that the connection ends, connects again and sends further requests over the new
   * connection.
   */
  readonly handsOver?: boolean
  /**
   * Begins to drain: tells the peer why and refuses new requests, as far as the protocol allows. Returns true if the
   * peer was told and closes the connection itself.
   */
  drain?(reason?: string): boolean
  /** The timer has fired at a time that the protocol has set. */
  wake?(now: number): void
  /** The peer has closed the connection: takes care of the events that were received and wait. Called before `discard`. */
  left?(): void
  /**
   * Nothing more is handled or sent over this socket, which may close much later: frees the memory of received bytes, and
   * ends the streams that this side sends, unless the connection may be resumed.
   */
  discard?(): void
  /** The connection has ended: fails pending calls and stops running requests. Called once. */
  close(reason?: Error): void
}

/** The protocol of a client, which connects and makes calls. */
export interface ClientProtocol extends ProtocolConnection {
  /** The calls of the client. A call may be started while the connection is still being made. */
  readonly calls: OpenCalls
  /**
   * The socket is connected: sends the data that has waited for it.
   * @param credentials the credentials of the client, if the protocol can send them
   */
  open(output: Output, credentials?: object): void
  /**
   * Called when the client closes at once, even with calls in flight. Tells the server, if the protocol requires it.
   */
  leave?(): void
  /**
   * Asks the other side for a sign of life. Resolves when the sign arrives, and never if it does not. `undefined` if
   * the protocol has no such sign.
   */
  confirm?(): Promise<void>
  /** Why the server has ended the connection, if the server has said so. */
  readonly reason?: Error | undefined
  /** Whether the other end has not agreed yet to resume the connection over the present socket, or there is none. */
  readonly isResuming?: boolean
  /** The socket is lost. Returns true if the connection can be resumed; then `open` gets the next socket. */
  lost?(): boolean
}

/** A stream that waits until its connection has room. */
export interface WaitingStream {
  /** There is room again: sends more values. */
  resume(): void
}

/** The session, as its protocol uses it: it collects and writes the protocol's output. */
export interface Output {
  /** Address and certificate of the other end. */
  readonly remote: Pick<Socket, 'remoteAddress' | 'remotePort' | 'certificate'>
  /** Queues text for the peer. All text that is queued in one turn of the event loop is written together. */
  send(text: string): void
  /** Sets the buffer of a binary protocol. The session sends its content and resets it. */
  attach(bytes: ByteWriter): void
  /** Replaces the protocol of the connection, for example after its handshake. */
  adopt(protocol: ProtocolConnection): void
  /** Tells the session that it may send the content of the attached buffer. */
  committed(): void
  /** Logs the reason, writes the queued data and ends the connection; the peer gets time to close. */
  end(reason?: Error): void
  /** Like `end`, but at once: bytes that the system has not taken are lost. */
  destroy(reason?: Error): void
  /** Queued bytes (or characters not yet encoded) that the kernel has not taken. */
  readonly unsent: number
  /** Whether the peer does not read. Then the protocol must start no new work until `ProtocolConnection.resume`. */
  readonly isBlocked: boolean
  /** A request or event that took more than one turn has ended, so `inFlight` is one less. */
  settled(): void
  /** Calls `resume` of the protocol, because the protocol can now handle input that it has held back itself. */
  goOn(): void
  /** Runs `task` when the current turn of the event loop has ended, its promises included. */
  defer(task: () => void): void
  /** Returns whether a stream may send now. If not, `resume` of the stream is called later, unless this is the end. */
  hasRoomFor(stream: WaitingStream): boolean
}

/** The part of `Output` that a client's frames need. */
export type FrameOutput = Omit<Output, 'remote' | 'send' | 'adopt' | 'defer'>

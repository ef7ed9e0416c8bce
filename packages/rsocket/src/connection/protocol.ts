/**
 * The interfaces between a session and its protocol. Protocols are sans-I/O: they receive chunks and send text or bytes
 * through `Output`. Sockets, timers and turns of the event loop belong to the session.
 */
import type { ByteWriter, OpenCalls } from '@elysia-microservices/transport/kit'
import type { Socket } from './socket.ts'

/** The protocol of one connection, as its session sees it. */
export interface ProtocolConnection {
  /**
   * Takes a chunk, which may contain parts of frames.
   * @throws {ProtocolError | PayloadTooLargeError} the bytes are not allowed; the session ends the connection
   */
  receive(chunk: Uint8Array): void
  /** Handles what was held back, after `Output.isBlocked` became false. Throws like `receive`. */
  resume(): void
  /** Whether a message has begun to arrive and is not complete. */
  readonly incomplete: boolean
  /** Characters or bytes received and not yet handled. */
  readonly buffered: number
  /** Requests and events in flight. */
  readonly inFlight: number
  /** Streams that this side sends. */
  readonly streams?: number
  /** Whether whole messages wait because the server has no room for more work. */
  readonly isHeldBack?: boolean
  /** Whether the peer, told that the connection ends, connects again and makes its further requests there. */
  readonly handsOver?: boolean
  /**
   * Begins to drain: tells the peer why and refuses new work, as far as the protocol can. Returns true if the peer was
   * told and closes the connection itself.
   */
  drain?(reason?: string): boolean
  /** The timer has fired at a time that was asked for. */
  wake?(now: number): void
  /** Frees the memory of received bytes: nothing more is handled. */
  discard?(): void
  /** The connection is gone: fails pending calls and stops running requests. Called once. */
  close(reason?: Error): void
}

/** The protocol of a client, which connects and makes calls. */
export interface ClientProtocol extends ProtocolConnection {
  /** Its calls. They may be started while the connection is still being made. */
  readonly calls: OpenCalls
  /** The socket is connected: sends what has waited for it. @param credentials who this is, where the protocol can say it */
  open(output: Output, credentials?: object): void
  /** Called when the client closes at once, even with calls in flight. Tells the server, in protocols that need it. */
  leave?(): void
  /**
   * Asks the other side for a sign of life. Resolves when it comes, and never if it does not. `undefined` if the
   * protocol has no such sign.
   */
  confirm?(): Promise<void>
  /** Why the server has ended the connection, if it said so. */
  readonly reason?: Error | undefined
  /** The socket is lost. Returns true if the connection can be resumed; then `open` gets the next socket. */
  lost?(): boolean
}

/** A stream that waits until its connection has room. */
export interface WaitingStream {
  /** There is room again: sends what waits. */
  resume(): void
}

/** The session, as its protocol sees it: it collects and writes. */
export interface Output {
  /** Address and certificate of the other end. */
  readonly remote: Pick<Socket, 'remoteAddress' | 'remotePort' | 'certificate'>
  /** Queues text for the peer. Everything queued in one turn is written together. */
  send(text: string): void
  /** Sets the buffer of a binary protocol. The session sends its content and resets it. */
  attach(bytes: ByteWriter): void
  /** Replaces the protocol of the connection, for example after its handshake. */
  adopt(protocol: ProtocolConnection): void
  /** Says that the content of the attached buffer may be sent. */
  committed(): void
  /** Logs the reason, writes what is queued and ends the connection, giving the peer time to close. */
  end(reason?: Error): void
  /** Like `end`, but at once: bytes that the system does not take are lost. */
  destroy(reason?: Error): void
  /** Queued bytes (or characters not yet encoded) that have not reached the kernel. */
  readonly unsent: number
  /** Whether the peer does not read: then start no new work until `ProtocolConnection.resume`. */
  readonly isBlocked: boolean
  /** A request or event that took more than a turn has ended, so `inFlight` is one less. */
  settled(): void
  /** Calls `resume` of the protocol, because work that it held back itself may begin. */
  goOn(): void
  /** Runs `task` when the current turn is over, its promises included. */
  defer(task: () => void): void
  /** Whether a stream may send now. If not, its `resume` is called later. */
  hasRoomFor(stream: WaitingStream): boolean
}

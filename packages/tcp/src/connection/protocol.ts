/**
 * What a session expects of a protocol, and a protocol of its session. Protocols are sans-I/O: they get
 * chunks and return text or bytes through `Output`; sockets, timers and turns of the event loop belong to the session.
 */
import type { ByteWriter, CallHolder, PendingCall } from '@elysia-microservices/transport/kit'
import type { Socket } from '../socket/socket.ts'

/** One connection as its protocol sees it: chunks in, calls out. */
export interface ProtocolConnection {
  /**
   * Takes what was read, in any division.
   * @throws {ProtocolError | PayloadTooLargeError} what arrived is not allowed; the session ends the connection
   */
  receive(chunk: Uint8Array): void
  /** Written bytes have left, `Output.isBlocked` is false again: handles what was held back. Throws as `receive`. */
  resume(): void
  /** A message has begun to arrive and is not complete. */
  readonly incomplete: boolean
  /** Characters or bytes received and not yet handled. */
  readonly buffered: number
  /** Requests and events whose handling has not ended. */
  readonly inFlight: number
  /** Streams that this side sends and that have not ended. */
  readonly streams?: number
  /** Whole messages wait because the server has no room for their work, not because of their sender. */
  readonly isHeldBack?: boolean
  /**
   * This side wants to stop: tells the peer why, if the protocol can, and takes no new work if it may refuse it.
   * True if the peer, having been told, closes the connection itself.
   */
  drain?(reason?: string): boolean
  /** A time asked for has come. */
  wake?(now: number): void
  /** Nothing more is read or handled: forgets what was received, which may be much. */
  discard?(): void
  /** The connection is gone: fails what is pending, stops what is running. Called once. */
  close(reason?: Error): void
}

/** The side of a protocol that connects and calls. */
export interface ClientProtocol extends ProtocolConnection, CallHolder {
  /**
   * Sends a call, from the moment the connection is being made: a new one, or one that has failed elsewhere. What is
   * wrong with it, it tells the call.
   */
  start(call: PendingCall): void
  /** Calls made so far. */
  readonly started: number
  /** The socket is connected: what has waited for it leaves. */
  open(output: Output): void
  wake(now: number): void
  /** The client leaves at once, with calls in flight or without: tells the server, if that matters to it. */
  leave?(): void
  /**
   * Asks the other side for a sign of life; resolves when it comes, never if it does not. `undefined` where the
   * protocol has none.
   */
  confirm?(): Promise<void>
  /** Why the server has ended the connection, once it has said so. */
  readonly reason?: Error | undefined
  /** The socket is lost. True if the connection waits for another, which is given to `open`. */
  lost?(): boolean
}

/** A stream that waits until its connection takes more. */
export interface WaitingStream {
  resume(): void
}

/** The way out of a protocol: its session collects and writes. */
export interface Output {
  /** Who is at the other end. */
  readonly remote: Pick<Socket, 'remoteAddress' | 'remotePort' | 'certificate'>
  /** Queues text for the peer. Everything queued in one turn leaves in one write. */
  send(text: string): void
  /** Makes `bytes` the place where a binary protocol queues: what stands there leaves, and it is reset. */
  attach(bytes: ByteWriter): void
  /** Puts another protocol in the place of the one that has begun: its successor after a handshake. */
  adopt(protocol: ProtocolConnection): void
  /** Says that what was written to the attached bytes may leave. */
  committed(): void
  /** Logs why, writes what is queued and ends the connection, for which the peer is given some time. */
  end(reason?: Error): void
  /** The same at once, without waiting for the peer; what the system does not take is lost. */
  destroy(reason?: Error): void
  /** What is queued and has not reached the kernel: bytes, or characters not yet made bytes. */
  readonly unsent: number
  /** The peer does not take what was written: start no new work until `ProtocolConnection.resume`. */
  readonly isBlocked: boolean
  /** A request or an event that took more than a turn has ended: `inFlight` is one less. */
  settled(): void
  /** Work that the protocol held back by itself may begin: calls its `resume`, in a turn of its own. */
  goOn(): void
  /** Runs `task` once the current turn, promises included, is over. */
  defer(task: () => void): void
  /** Whether a stream may send at the moment. If not, its `resume` is called when it may. */
  hasRoomFor(stream: WaitingStream): boolean
}

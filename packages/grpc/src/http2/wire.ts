/**
 * The parts that both directions of a connection share: its streams, the output, and the ends of streams and of the connection.
 */
import type { Output } from '@elysia-microservices/rsocket'
import { FrameBytes } from './data-frames.ts'
import { ConnectionFault, ErrorCode } from './error-code.ts'
import { writeFields } from './field-output.ts'
import { FIRST_WINDOW } from './frame-type.ts'
import { writeGoAway, writeReset, writeWindowUpdate } from './frames.ts'
import { Guard } from './guard.ts'
import { HpackEncoder } from './hpack/encoder.ts'
import { sizeOf } from './hpack/field.ts'
import type { Http2Limits } from './limits.ts'
import { ReceiveWindow } from './receive-window.ts'
import { Sender, type SenderOwner } from './sender.ts'
import { PeerSettings } from './settings.ts'
import { Http2Stream, type StreamEnd, type StreamOwner } from './stream.ts'
import { Closed, Streams } from './streams.ts'

/** The side of a connection. */
export type Role = 'client' | 'server'

/** The session of a connection, as far as HTTP/2 needs it. */
export type Http2Output = Pick<Output, 'attach' | 'committed' | 'end' | 'isBlocked' | 'hasRoomFor'>

/** The shared parts of one connection. */
export class Wire implements StreamOwner, SenderOwner {
  readonly role: Role
  readonly limits: Http2Limits
  readonly guard: Guard
  readonly bytes = new FrameBytes()
  readonly settings = new PeerSettings()
  readonly streams = new Streams()
  readonly encoder = new HpackEncoder()
  readonly sender: Sender
  /** The window of the connection, for what the peer sends. */
  readonly window: ReceiveWindow
  /** `undefined` until the socket is connected; what is written waits. */
  output: Http2Output | undefined
  /** Nothing more is handled or sent. */
  isEnded = false
  /** Called when a stream has ended, before the next event. */
  settled: () => void = () => {}

  constructor(role: Role, limits: Http2Limits, now: number) {
    this.role = role
    this.limits = limits
    this.guard = new Guard(limits, now)
    this.sender = new Sender(this, limits.sendBuffer)
    this.window = new ReceiveWindow(Math.max(limits.connectionWindow, FIRST_WINDOW), FIRST_WINDOW)
  }

  /** Whether a stream belongs to the peer, by its id. */
  isOfPeer(id: number): boolean {
    return (id & 1) === (this.role === 'server' ? 1 : 0)
  }

  newStream(id: number, phase: number): Http2Stream {
    const { settings, limits, guard } = this
    const window = Math.max(limits.streamWindow, FIRST_WINDOW)
    const stream = new Http2Stream(this, id, phase, settings.initialWindow, window, guard.now)
    this.streams.add(stream, this.isOfPeer(id))
    return stream
  }

  /** Whether fields of a message are more than the peer accepts. */
  isTooLarge(fields: readonly string[]): boolean {
    const { maxFieldsSize } = this.settings
    if (maxFieldsSize === Number.POSITIVE_INFINITY) return false
    let size = 0
    for (let at = 0; at < fields.length; at += 2)
      size += sizeOf(fields[at] as string, fields[at + 1] as string)
    return size > maxFieldsSize
  }

  committed(): void {
    if (this.isEnded) this.bytes.reset()
    else this.output?.committed()
  }

  // ── called by streams and the sender ─────────────────────────────────────────────────────────────────

  sendFields(stream: Http2Stream, fields: readonly string[], isLast: boolean): void {
    if (stream.hasPending) stream.ending = fields
    else this.writeFields(stream, fields, isLast)
  }

  writeFields(stream: Http2Stream, fields: readonly string[], isLast: boolean): void {
    try {
      writeFields(this.bytes, this.encoder, stream.id, fields, isLast)
    } catch (error) {
      return this.fail(error as Error)
    }
    this.guard.answered()
    this.committed()
    if (isLast) this.sentAll(stream)
  }

  sendData(stream: Http2Stream, bytes: Uint8Array, length: number, isLast: boolean): void {
    this.sender.data(stream, bytes, length, isLast)
  }

  hasRoomFor(stream: Http2Stream): boolean {
    return this.sender.hasRoomFor(stream)
  }

  consumed(stream: Http2Stream, bytes: number): void {
    const taken = Math.min(bytes, stream.unread)
    stream.unread -= taken
    const increment = stream.isReceiving ? stream.receiveWindow.consume(taken) : 0
    if (increment > 0) writeWindowUpdate(this.bytes, stream.id, increment)
    this.giveBack(taken, increment > 0)
  }

  /** Bytes were consumed that the window of the connection has counted. */
  giveBack(bytes: number, hasWritten = false): void {
    const increment = this.window.consume(bytes)
    if (increment > 0) writeWindowUpdate(this.bytes, 0, increment)
    if (increment > 0 || hasWritten) this.committed()
  }

  cancel(stream: Http2Stream, code: number): void {
    // The peer may have sent some frames before it knows.
    this.guard.content()
    this.reset(stream.id, code)
    this.close(stream, Closed.RESET_BY_US)
  }

  /** Everything of a stream was sent. */
  sentAll(stream: Http2Stream): void {
    stream.endLocal()
    if (!stream.isReceiving) return this.done(stream)
    if (this.role === 'client') return
    // A response that does not wait for the end of its request: the rest is not wanted. RFC 9113, section 8.1.
    this.guard.completed()
    this.cancel(stream, ErrorCode.NO_ERROR)
  }

  /** Both sides have sent everything. */
  done(stream: Http2Stream): void {
    this.guard.completed()
    this.close(stream, Closed.DONE)
  }

  // ── ends ─────────────────────────────────────────────────────────────────────────────────────────────

  /** Sends RST_STREAM, also for a stream that is gone. */
  reset(id: number, code: number): void {
    writeReset(this.bytes, id, code)
    this.committed()
  }

  /** Removes a stream. @param how one of `Closed` */
  close(stream: Http2Stream, how: number): void {
    this.sender.forget(stream)
    stream.endLocal()
    stream.endRemote()
    this.streams.remove(stream.id, how, this.isOfPeer(stream.id))
    const { unread } = stream
    stream.unread = 0
    if (unread > 0) this.giveBack(unread)
    this.settled()
  }

  /** Removes a stream, and tells its listener why. */
  end(stream: Http2Stream, how: number, end: StreamEnd): void {
    this.close(stream, how)
    stream.listener.reset(end)
  }

  /** Ends the connection because of an error, of which the peer is told. */
  fail(error: Error): void {
    if (this.isEnded) return
    const code = error instanceof ConnectionFault ? error.errorCode : ErrorCode.INTERNAL_ERROR
    const reason = error instanceof ConnectionFault ? error.told : ''
    writeGoAway(this.bytes, this.streams.lastHandled, code, reason)
    this.isEnded = true
    this.output?.end(error)
    this.endStreams(error)
  }

  /** Ends all streams: the connection is over. */
  endStreams(reason: Error | undefined): void {
    this.isEnded = true
    for (const stream of this.streams.all)
      this.end(stream, Closed.RESET_BY_US, {
        errorCode: ErrorCode.CANCEL,
        isByPeer: false,
        mayHaveRun: true,
        ...(reason && { reason })
      })
  }
}

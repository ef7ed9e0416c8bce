/**
 * One HTTP/2 connection, either end, without sockets: chunks in, events of streams out, frames into a buffer that its
 * session writes. RFC 9113.
 */
import type { ProtocolConnection } from '@elysia-microservices/rsocket'
import type { GoAway } from './connection-frames.ts'
import { ErrorCode } from './error-code.ts'
import { FrameInput } from './frame-input.ts'
import { FIRST_WINDOW, MAX_UINT31, PREFACE } from './frame-type.ts'
import { writeGoAway, writeSettings, writeWindowUpdate } from './frames.ts'
import { HTTP2_LIMITS, type Http2Limits } from './limits.ts'
import { type Listener, ReceivedFrames } from './received-frames.ts'
import { Setting } from './settings.ts'
import { type Http2Stream, Phase, type StreamListener } from './stream.ts'
import { type Http2Output, type Role, Wire } from './wire.ts'

/** Streams that a client opens before it knows how many the server allows. */
const FIRST_MAX_STREAMS = 100

/** The parameters of a connection. */
export interface Http2Init extends Listener {
  readonly role: Role
  /** Default of each: see `HTTP2_LIMITS`. */
  readonly limits?: Partial<Http2Limits>
  /** Milliseconds of a clock that never goes back. */
  now(): number
}

/** One connection. */
export class Http2Connection implements ProtocolConnection {
  readonly #now: () => number
  readonly #wire: Wire
  readonly #input: FrameInput
  readonly #frames: ReceivedFrames
  /** The time at which bytes have last arrived; at first that of the beginning. */
  heardAt: number

  constructor(init: Http2Init) {
    const { role } = init
    const limits = { ...HTTP2_LIMITS, ...init.limits }
    this.#now = () => init.now()
    this.heardAt = init.now()
    this.#wire = new Wire(role, limits, this.heardAt)
    this.#frames = new ReceivedFrames(this.#wire, init, () => this.#input.discard())
    this.#input = new FrameInput(this.#frames, limits.receiveBuffer, role === 'server')
    this.#greet(limits)
  }

  #greet({ streams, streamWindow, fieldsSize }: Http2Limits): void {
    const { bytes, window, role } = this.#wire
    if (role === 'client') bytes.bytes(PREFACE)
    writeSettings(bytes, [
      role === 'client' ? [Setting.ENABLE_PUSH, 0] : [Setting.MAX_CONCURRENT_STREAMS, streams],
      [Setting.INITIAL_WINDOW_SIZE, Math.max(streamWindow, FIRST_WINDOW)],
      [Setting.MAX_HEADER_LIST_SIZE, fieldsSize]
    ])
    const increment = window.open()
    if (increment > 0) writeWindowUpdate(bytes, 0, increment)
  }

  // ── for the session ──────────────────────────────────────────────────────────────────────────────────

  /** The socket is connected: sends what has waited for it. */
  open(output: Http2Output): void {
    this.#wire.output = output
    output.attach(this.#wire.bytes)
    output.committed()
    if (this.#wire.isEnded) output.end()
  }

  /** Takes a chunk of received bytes. */
  receive(chunk: Uint8Array): void {
    if (this.isEnded) return
    this.heardAt = this.#now()
    this.#wire.guard.now = this.heardAt
    this.#input.receive(chunk)
  }

  /** The peer reads again: sends what has waited, and handles frames that have waited. */
  resume(): void {
    this.#wire.guard.now = this.#now()
    this.#wire.sender.pump()
    this.#input.resume()
  }

  /** Whether a frame, the fields of a message, or the beginning of the connection have not arrived completely. */
  get incomplete(): boolean {
    return this.#frames.incomplete || this.#input.buffered > 0
  }

  /** Bytes that were received and not yet handled. */
  get buffered(): number {
    return this.#input.buffered
  }

  /** Number of open streams. */
  get inFlight(): number {
    return this.#wire.streams.size
  }

  /** Bytes that wait until the peer's windows have room. */
  get pending(): number {
    return this.#wire.sender.pending
  }

  /** Drops received bytes, and ends the streams of a server: nothing more is handled or sent. */
  discard(): void {
    this.#wire.isEnded = true
    this.#input.discard()
    // A client is told by `close`, with the reason.
    if (this.#wire.role === 'server') this.#wire.endStreams(undefined)
  }

  /** The connection is lost or closed: its streams end. */
  close(reason?: Error): void {
    this.#wire.endStreams(reason)
    this.#input.discard()
  }

  // ── for the user ─────────────────────────────────────────────────────────────────────────────────────

  /** Whether nothing more is sent or received. */
  get isEnded(): boolean {
    return this.#wire.isEnded
  }

  /** Whether no new stream can be opened, however long one waits: the peer goes away, or all ids are used. */
  get isLeaving(): boolean {
    return this.isEnded || this.#frames.goAway !== undefined || this.#wire.streams.next > MAX_UINT31
  }

  /** Why the peer ends the connection; `undefined` while it does not. */
  get goAway(): GoAway | undefined {
    return this.#frames.goAway
  }

  /** Client: whether a stream can be opened now. If not, `changed` is called when that may be different. */
  get canOpen(): boolean {
    const { settings, streams } = this.#wire
    const most = this.#frames.isSettled ? settings.maxStreams : FIRST_MAX_STREAMS
    return !this.isLeaving && streams.ofUs < most
  }

  /** Whether the fields of a message are more than the peer accepts: it would refuse them. */
  isTooLarge(fields: readonly string[]): boolean {
    return this.#wire.isTooLarge(fields)
  }

  /**
   * Client: opens a stream with a request: name, value, name, value… Call it only while `canOpen`. The listener may be
   * told of an early end before the method returns.
   */
  request(fields: readonly string[], isLast: boolean, listener: StreamListener): Http2Stream {
    const { streams } = this.#wire
    const stream = this.#wire.newStream(streams.next, Phase.HEAD)
    streams.next += 2
    stream.listener = listener
    stream.fields(fields, isLast)
    return stream
  }

  /** Asks the peer for a sign of life. @param answered is called with the answer */
  ping(answered: () => void): void {
    this.#frames.ping(answered)
  }

  /**
   * Begins to end the connection. A server answers everything first, also requests that the client has sent before it
   * knows; then it closes. A client only opens no more streams, and does not close.
   * @param reason is sent to the client
   * @returns whether the peer was told
   */
  drain(reason = ''): boolean {
    if (this.isEnded || this.#wire.role === 'client') return false
    this.#frames.drain(reason)
    return true
  }

  /** Tells the peer that the connection ends now. The session closes it. */
  leave(): void {
    if (this.isEnded) return
    writeGoAway(this.#wire.bytes, this.#wire.streams.lastHandled, ErrorCode.NO_ERROR, '')
    this.#wire.committed()
  }
}

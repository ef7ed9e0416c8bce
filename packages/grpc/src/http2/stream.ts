/** One stream: its state, its windows, and what waits to be sent. RFC 9113, sections 5.1 and 5.2. */
import type { WaitingStream } from '@elysia-microservices/rsocket'
import type { ByteList } from '@elysia-microservices/transport/kit'
import type { Field } from './hpack/field.ts'
import { ReceiveWindow } from './receive-window.ts'

/** The states of a stream that has begun. A stream that is idle has no object. */
export const StreamState = { OPEN: 0, HALF_CLOSED_LOCAL: 1, HALF_CLOSED_REMOTE: 2, CLOSED: 3 } as const
type State = (typeof StreamState)[keyof typeof StreamState]

/** Why a stream has ended before both sides were done. */
export interface StreamEnd {
  /** One of `ErrorCode`. */
  readonly errorCode: number
  /** Whether the peer has ended the stream. False: an error of this side or of the whole connection. */
  readonly isByPeer: boolean
  /** False if the peer has certainly not handled anything of the stream. */
  readonly mayHaveRun: boolean
  /** The reason in words, if there is one. */
  readonly reason?: Error
}

/** Receives the events of one stream. Its methods must not throw: an error would end the connection. */
export interface StreamListener {
  /** Client: the fields of the response have arrived. @param isLast nothing comes behind them */
  head(fields: readonly Field[], isLast: boolean): void
  /**
   * Bytes have arrived; `consumed` of the stream gives their room back. The buffer is valid during the call.
   * @param isLast nothing comes behind them; then there may be no bytes
   */
  data(buffer: Uint8Array, start: number, end: number, isLast: boolean): void
  /** Trailers have arrived. Nothing comes behind them. */
  trailers(fields: readonly Field[]): void
  /** The stream has ended early; nothing more is sent or received. The last event. */
  reset(end: StreamEnd): void
  /** There is room for data again, after `hasRoom` of the stream has been false. */
  room(): void
}

const NOBODY: StreamListener = { head() {}, data() {}, trailers() {}, reset() {}, room() {} }

/** The connection of a stream. */
export interface StreamOwner {
  sendFields(stream: Http2Stream, fields: readonly string[], isLast: boolean): void
  sendData(stream: Http2Stream, bytes: Uint8Array, length: number, isLast: boolean): void
  hasRoomFor(stream: Http2Stream): boolean
  consumed(stream: Http2Stream, bytes: number): void
  cancel(stream: Http2Stream, code: number): void
}

/** The parts of a received message, in order. */
export const Phase = { HEAD: 0, BODY: 1 } as const

/** One stream. Methods that send do nothing on a stream that has ended or whose sending side is done. */
export class Http2Stream implements WaitingStream {
  readonly id: number
  readonly #owner: StreamOwner
  /** Receives the events. */
  listener: StreamListener = NOBODY
  state: State = StreamState.OPEN
  /** The part of the peer's message that comes next. */
  phase: number
  /** Time at which the stream was opened. */
  readonly openedAt: number
  /** Bytes that the peer's window has room for. Below 0 if the peer has made its windows smaller. */
  sendWindow: number
  /** Bytes that wait for room. */
  pending: ByteList | undefined
  /** The first bytes that wait, and how many of them are sent. */
  chunk: Uint8Array | undefined
  chunkAt = 0
  /** Behind the bytes that wait comes: trailers; `'nothing'`: the end; `undefined`: it is not known yet. */
  ending: readonly string[] | 'nothing' | undefined
  readonly receiveWindow: ReceiveWindow
  /** Bytes that were received and not yet consumed, with their padding. */
  unread = 0
  /** Bytes that the peer's message must still have, by its content-length; -1: it may have any number. */
  promised = -1

  constructor(
    owner: StreamOwner,
    id: number,
    phase: number,
    sendWindow: number,
    receiveWindow: number,
    now: number
  ) {
    this.#owner = owner
    this.id = id
    this.phase = phase
    this.sendWindow = sendWindow
    this.receiveWindow = new ReceiveWindow(receiveWindow)
    this.openedAt = now
  }

  /** Whether this side may still send. */
  get isSending(): boolean {
    return this.state === StreamState.OPEN || this.state === StreamState.HALF_CLOSED_REMOTE
  }

  /** Whether the peer may still send. */
  get isReceiving(): boolean {
    return this.state === StreamState.OPEN || this.state === StreamState.HALF_CLOSED_LOCAL
  }

  /** Whether bytes wait for room. */
  get hasPending(): boolean {
    return this.chunk !== undefined || (this.pending !== undefined && this.pending.length > 0)
  }

  /** The peer has sent everything. */
  endRemote(): void {
    this.state = this.state === StreamState.OPEN ? StreamState.HALF_CLOSED_REMOTE : StreamState.CLOSED
  }

  /** This side has sent everything. */
  endLocal(): void {
    this.state = this.state === StreamState.OPEN ? StreamState.HALF_CLOSED_LOCAL : StreamState.CLOSED
  }

  // ── for the user of the stream ───────────────────────────────────────────────────────────────────────

  /**
   * Sends the first fields of a message, or trailers: name, value, name, value… Names are in lower case, and everything is
   * ASCII. @param isLast nothing comes behind them
   */
  fields(fields: readonly string[], isLast: boolean): void {
    if (this.isSending && this.ending === undefined) this.#owner.sendFields(this, fields, isLast)
  }

  /**
   * Sends bytes. They are copied, and what the peer has no room for waits, so ask `hasRoom` first where more may follow.
   * @param isLast nothing comes behind them
   * @param length how many of the bytes. Default: all
   */
  data(bytes: Uint8Array, isLast: boolean, length = bytes.length): void {
    if (this.isSending && this.ending === undefined) this.#owner.sendData(this, bytes, length, isLast)
  }

  /** Whether data would be sent now. If not, the listener's `room` is called when it would. */
  get hasRoom(): boolean {
    return this.isSending && this.ending === undefined && this.#owner.hasRoomFor(this)
  }

  /** Received bytes were consumed: the peer may send as many more. */
  consumed(bytes: number): void {
    if (this.state !== StreamState.CLOSED) this.#owner.consumed(this, bytes)
  }

  /** Ends the stream at once, in both directions. The listener gets no further event. */
  cancel(code: number): void {
    if (this.state !== StreamState.CLOSED) this.#owner.cancel(this, code)
  }

  /** The connection has room again: see `WaitingStream`. */
  resume(): void {
    if (this.isSending && this.ending === undefined) this.listener.room()
  }
}

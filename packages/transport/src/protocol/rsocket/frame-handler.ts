/**
 * Reads frames and hands them on: those of streams to the requester or the responder, those of the connection
 * to their methods. What both roles of a connection have in common. Protocol.md, "Frame Types" and "Handling
 * the Unexpected".
 */
import { ByteList } from '../../bytes/byte-list.ts'
import { ByteWriter } from '../../bytes/byte-writer.ts'
import { copyBytes, readUint16, readUint31, readUint32, readUint63, readUtf8 } from '../../bytes/read.ts'
import { PayloadTooLargeError, ProtocolError } from '../../errors.ts'
import type { Output, ProtocolConnection } from '../connection.ts'
import { FrameReader } from './frame-reader.ts'
import { FrameSender } from './frame-sender.ts'
import { ErrorCode, Flag, FrameType, HEADER_LENGTH } from './frame-type.ts'
import { errorCodeName, writeError, writeKeepalive } from './frames.ts'
import type { RSocketOptions } from './options.ts'
import { readPayload } from './payload.ts'
import { type RawPayload, Reassembler } from './reassembly.ts'
import type { RequesterHost, RSocketRequester } from './requester.ts'
import type { RequestFrame, RSocketResponder } from './responder.ts'
import { hasPosition, type ResumeState } from './resume.ts'

/** A first fragment of ours that waits for the rest: a request, or a value (with the flags of its frame). */
type FirstFragment = RequestFrame | { readonly type: typeof FrameType.PAYLOAD }

/** Frames of one connection, for either role. */
export abstract class FrameHandler implements ProtocolConnection, RequesterHost {
  readonly bytes = new ByteWriter()
  protected readonly options: RSocketOptions
  readonly sender: FrameSender
  protected output: Output | undefined
  protected abstract readonly requester: RSocketRequester | undefined
  protected abstract readonly responder: RSocketResponder | undefined
  /** Streams of ours have odd ids, or even ones. */
  protected abstract readonly ownParity: 0 | 1
  /** Something has been received since this was last set to false. */
  protected heard = false
  protected ended = false
  /** What a lost connection is resumed with; `undefined` if it is not. */
  protected resumption: ResumeState | undefined
  /** The socket is lost, or its successor is not agreed on: frames are kept, not sent. */
  protected detached = false
  readonly #frames: FrameReader
  readonly #fragments: Reassembler<FirstFragment>
  /** What waits until the peer reads its answers, or is authenticated. Made when something has to. */
  #held: ByteList | undefined
  #handling = false

  constructor(options: RSocketOptions) {
    this.options = options
    this.#frames = new FrameReader(options.maxBufferSize)
    this.#fragments = new Reassembler(options.maxPayloadSize)
    this.sender = new FrameSender(this, options.fragmentSize, options.maxSendBufferSize)
  }

  get incomplete(): boolean {
    return this.buffered > 0
  }

  get buffered(): number {
    return this.#frames.buffered + this.#heldSize
  }

  get inFlight(): number {
    return (this.requester?.inFlight ?? 0) + (this.responder?.inFlight ?? 0)
  }

  get streams(): number {
    return this.responder?.streams ?? 0
  }

  get connected(): boolean {
    return this.output !== undefined && !this.detached
  }

  get unsent(): number {
    return this.output?.unsent ?? this.bytes.length
  }

  abstract settled(): void

  /** A socket is there: what stands in `bytes` may leave. */
  open(output: Output): void {
    this.output = output
    output.attach(this.bytes)
    if (this.bytes.length > 0) output.committed()
  }

  commit(start: number): void {
    if (this.ended) return this.bytes.reset()
    if (this.resumption !== undefined) {
      this.resumption.sent(this.bytes.copyFrom(start))
      if (this.detached) return this.bytes.rewind(start)
    }
    this.output?.committed()
  }

  /** The socket is lost, the connection is not: keeps its streams for another socket. */
  protected detach(): void {
    this.detached = true
    this.output = undefined
    this.bytes.reset()
    this.discard()
  }

  discard(): void {
    this.#frames.reset()
    this.#held = undefined
  }

  /** Both ends have agreed to go on: sends what the other end has not received. */
  protected reattach(resumption: ResumeState, receivedByPeer: number): void {
    this.detached = false
    for (const frame of resumption.framesFrom(receivedByPeer)) {
      this.bytes.bytes(frame)
      this.output?.committed()
    }
    this.requester?.connected()
  }

  receive(chunk: Uint8Array): void {
    this.heard = true
    if (this.#mayHandle() && this.#heldSize === 0 && this.#frames.exhausted) {
      this.#frames.push(chunk)
      this.#handleFrames()
      return
    }
    const size = this.#heldSize + chunk.length
    const { maxBufferSize } = this.options
    if (size > maxBufferSize)
      return this.fail(new PayloadTooLargeError('maxBufferSize', maxBufferSize, size, 'bytes'))
    this.#held ??= new ByteList()
    this.#held.add(chunk)
  }

  resume(): void {
    this.#handleFrames()
    while (this.#heldSize > 0 && this.#mayHandle() && !this.ended) {
      this.#frames.push(this.#held?.shift() as Buffer)
      this.#handleFrames()
    }
  }

  /** Whether frames may be handled now; those that may not are held. */
  protected mayHandle(): boolean {
    return true
  }

  /** Handles a frame before the connection is set up; false if it is. */
  protected abstract beforeSetup(
    type: number,
    streamId: number,
    buffer: Buffer,
    start: number,
    end: number
  ): boolean
  protected abstract lease(timeToLive: number, requests: number): void
  /** The other side has answered a KEEPALIVE. */
  protected alive(): void {}
  protected abstract connectionError(code: number, data: string): void

  /** METADATA_PUSH has come. */
  protected metadataPush(buffer: Buffer, start: number, end: number): void {
    this.options.onMetadataPush?.(copyBytes(buffer, start, end))
  }

  abstract wake(now: number): void
  abstract close(reason?: Error): void

  /** Tells the peer what it did wrong, and ends the connection. */
  protected fail(error: Error, code: number = ErrorCode.CONNECTION_ERROR): void {
    if (this.ended) return
    writeError(this.bytes, 0, code, error.message)
    this.output?.committed()
    this.ended = true
    this.output?.end(error)
  }

  /**
   * Nothing has come from the peer for too long. Nobody waits for it to close: it may be behind a link that is
   * gone. What can be resumed is, by another socket.
   */
  protected lose(error: Error): void {
    if (this.resumption === undefined) {
      writeError(this.bytes, 0, ErrorCode.CONNECTION_ERROR, error.message)
      this.ended = true
    }
    this.output?.destroy(error)
  }

  get #heldSize(): number {
    return this.#held?.length ?? 0
  }

  #mayHandle(): boolean {
    return this.output?.blocked !== true && this.mayHandle()
  }

  #handleFrames(): void {
    if (this.#handling) return
    this.#handling = true
    try {
      while (!this.ended && this.#mayHandle() && this.#frames.next()) {
        const { buffer, start, end } = this.#frames
        this.#handle(buffer, start, end)
      }
    } catch (error) {
      this.fail(error as Error)
    } finally {
      this.#handling = false
    }
    this.#frames.keepRest()
  }

  #handle(buffer: Buffer, start: number, end: number): void {
    const streamId = readUint31(buffer, start)
    const typeAndFlags = readUint16(buffer, start + 4)
    const type = typeAndFlags >>> 10
    const flags = typeAndFlags & 0x3ff
    if (this.beforeSetup(type, streamId, buffer, start, end)) return
    if (this.resumption !== undefined && streamId > 0 && hasPosition(type))
      this.resumption.received += end - start
    try {
      if (streamId === 0) this.#handleConnectionFrame(type, flags, buffer, start + HEADER_LENGTH, end)
      else this.#handleStreamFrame(type, flags, streamId, buffer, start + HEADER_LENGTH, end)
    } catch (error) {
      if ((flags & Flag.IGNORE) === 0 || !(error instanceof ProtocolError)) throw error
    }
  }

  #handleStreamFrame(
    type: number,
    flags: number,
    streamId: number,
    buffer: Buffer,
    at: number,
    end: number
  ): void {
    const own = (streamId & 1) === this.ownParity
    switch (type) {
      case FrameType.REQUEST_RESPONSE:
      case FrameType.REQUEST_FNF:
        if (own) return
        return this.#request({ type, streamId, initialN: 1, complete: false }, flags, buffer, at, end)
      case FrameType.REQUEST_STREAM:
      case FrameType.REQUEST_CHANNEL: {
        if (own) return
        need(at + 4 <= end, 'a demand')
        const initialN = readUint31(buffer, at)
        if (initialN === 0)
          return this.sender.error(streamId, ErrorCode.INVALID, 'The initial demand must be 1 or more')
        const complete = type === FrameType.REQUEST_CHANNEL && (flags & Flag.COMPLETE) !== 0
        return this.#request({ type, streamId, initialN, complete }, flags, buffer, at + 4, end)
      }
      case FrameType.PAYLOAD:
        return this.#payload(own, streamId, flags, readPayload(buffer, flags, at, end))
      case FrameType.REQUEST_N: {
        need(at + 4 <= end, 'a demand')
        const n = readUint31(buffer, at)
        if (n === 0) return
        return own ? this.requester?.requestN(streamId, n) : this.responder?.requestN(streamId, n)
      }
      case FrameType.CANCEL:
        this.#fragments.drop(streamId)
        return own ? this.requester?.inputCanceled(streamId) : this.responder?.cancel(streamId)
      case FrameType.ERROR: {
        need(at + 4 <= end, 'an error code')
        this.#fragments.drop(streamId)
        const code = readUint32(buffer, at)
        const data = readUtf8(buffer, at + 4, end)
        if (own) return this.requester?.error(streamId, code, data)
        return this.responder?.cancel(
          streamId,
          new ProtocolError(`The caller's input failed (${errorCodeName(code)}): ${data}`)
        )
      }
      default:
        return this.#unknown(type, flags)
    }
  }

  #handleConnectionFrame(type: number, flags: number, buffer: Buffer, at: number, end: number): void {
    switch (type) {
      case FrameType.KEEPALIVE:
        need(at + 8 <= end, 'a position')
        this.resumption?.acknowledged(readUint63(buffer, at))
        if (flags & Flag.RESPOND) {
          writeKeepalive(this.bytes, false, this.resumption?.received ?? 0, buffer.subarray(at + 8, end))
          this.output?.committed()
        } else this.alive()
        return
      case FrameType.LEASE:
        need(at + 8 <= end, 'a lease')
        return this.lease(readUint31(buffer, at), readUint31(buffer, at + 4))
      case FrameType.ERROR:
        need(at + 4 <= end, 'an error code')
        return this.connectionError(readUint32(buffer, at), readUtf8(buffer, at + 4, end))
      case FrameType.METADATA_PUSH:
        return this.metadataPush(buffer, at, end)
      // "All other received frames that are not accounted for MUST be ignored": a second SETUP, stream frames
      // on stream 0, answers to a resumption nobody asked for.
      case FrameType.RESUME:
        throw new ProtocolError('RESUME came on a connection that is set up already')
      default:
        if (type < FrameType.SETUP || type > FrameType.RESUME_OK) this.#unknown(type, flags)
    }
  }

  #unknown(type: number, flags: number): void {
    if (flags & Flag.IGNORE || (type >= FrameType.SETUP && type <= FrameType.RESUME_OK)) return
    throw new ProtocolError(`Frames of type 0x${type.toString(16)} are not understood and may not be ignored`)
  }

  #request(request: RequestFrame, flags: number, buffer: Buffer, at: number, end: number): void {
    const payload = readPayload(buffer, flags, at, end)
    if (flags & Flag.FOLLOWS) {
      if (!this.#fragments.has(request.streamId)) this.#fragments.begin(request.streamId, request, payload)
      return
    }
    this.#requested(request, payload)
  }

  #requested(request: RequestFrame, payload: RawPayload): void {
    if (this.responder !== undefined) return this.responder.request(request, payload)
    this.requester?.skip(payload)
    if (request.type === FrameType.REQUEST_FNF) return
    this.sender.error(request.streamId, ErrorCode.REJECTED, 'This side of the connection answers no requests')
  }

  #payload(own: boolean, streamId: number, flags: number, payload: RawPayload): void {
    // "A PAYLOAD with both F and C flags set, implicitly ignores the F flag."
    if (flags & Flag.FOLLOWS && (flags & Flag.COMPLETE) === 0) {
      if (this.#fragments.has(streamId)) this.#fragments.add(streamId, payload)
      else this.#fragments.begin(streamId, { type: FrameType.PAYLOAD }, payload)
      return
    }
    const whole = this.#fragments.end(streamId, payload)
    if (whole !== undefined && whole.first.type !== FrameType.PAYLOAD) {
      const request = whole.first as RequestFrame
      const complete = request.complete || (flags & Flag.COMPLETE) !== 0
      return this.#requested({ ...request, complete }, whole.payload)
    }
    const complete = whole?.payload ?? payload
    if (own) this.requester?.payload(streamId, flags, complete)
    else this.responder?.payload(streamId, flags, complete)
  }
}

function need(there: boolean, what: string): void {
  if (!there) throw new ProtocolError(`A frame ends before ${what}`)
}

/**
 * Handles the frames of a set-up connection. Frames of our own streams go to the requester, frames of the peer's
 * streams to the responder. Fragments are joined first. Protocol.md, "Frame Types" and "Handling the Unexpected".
 */
import { ProtocolError, readUint16, readUint31, readUint32, text } from '@elysia-microservices/transport/kit'
import { type ConnectionRole, handleConnectionFrame, need, unknownFrame } from './connection-frames.ts'
import { ErrorCode, Flag, FrameType, HEADER_LENGTH, TYPE_SHIFT } from './frame-type.ts'
import { errorCodeName } from './frames.ts'
import { type Payload, readPayload } from './payload.ts'
import { Reassembler } from './reassembly.ts'
import type { RSocketRequester } from './requester.ts'
import type { RSocketResponder } from './responder.ts'
import { hasPosition } from './resume.ts'
import type { RequestFrame } from './running-request.ts'
import type { Wire } from './wire.ts'

/** The first frame of a fragmented request or value. */
type FirstFragment = RequestFrame | { readonly type: typeof FrameType.PAYLOAD }

/** The bits of a frame's type field that are flags. */
const FLAGS = 0x3ff

/** Passes the frames of streams to requester and responder, and other frames to the connection. */
export class StreamFrames {
  readonly #wire: Wire
  /** 1 if our own streams have odd ids, 0 if they have even ids. */
  readonly #ownParity: 0 | 1
  readonly #maxMessageSize: number
  readonly #connection: ConnectionRole
  /** Joins fragments. Made for the first fragment, because most connections get none. */
  #fragments: Reassembler<FirstFragment> | undefined
  /** Makes calls; `undefined` while this side has made no call. */
  requester: RSocketRequester | undefined
  /** Answers requests; `undefined` if this side answers no requests. */
  readonly responder: RSocketResponder | undefined

  constructor(init: {
    readonly role: 'client' | 'server'
    readonly wire: Wire
    /** Handles the frames on stream 0. */
    readonly connection: ConnectionRole
    /** Most bytes of all incomplete fragmented messages. */
    readonly maxMessageSize: number
    readonly requester: RSocketRequester | undefined
    readonly responder: RSocketResponder | undefined
  }) {
    this.#wire = init.wire
    this.#ownParity = init.role === 'client' ? 1 : 0
    this.#maxMessageSize = init.maxMessageSize
    this.#connection = init.connection
    this.requester = init.requester
    this.responder = init.responder
  }

  /** Number of requests and events in flight, of both sides. */
  get inFlight(): number {
    return (this.requester?.calls.inFlight ?? 0) + (this.responder?.inFlight ?? 0)
  }

  /**
   * Handles one frame of a connection that is set up.
   * @throws {ProtocolError} the frame is not allowed
   */
  handle(buffer: Uint8Array, start: number, end: number): void {
    const streamId = readUint31(buffer, start)
    const typeAndFlags = readUint16(buffer, start + 4)
    const type = typeAndFlags >>> TYPE_SHIFT
    const flags = typeAndFlags & FLAGS
    const at = start + HEADER_LENGTH
    const { resumption } = this.#wire
    if (resumption !== undefined && streamId > 0 && hasPosition(type)) resumption.received += end - start
    try {
      if (streamId > 0) this.#onStream(type, flags, streamId, buffer, at, end)
      else handleConnectionFrame(this.#wire, this.#connection, type, flags, buffer, at, end)
    } catch (error) {
      if ((flags & Flag.IGNORE) === 0 || !(error instanceof ProtocolError)) throw error
    }
  }

  #onStream(
    type: number,
    flags: number,
    streamId: number,
    buffer: Uint8Array,
    at: number,
    end: number
  ): void {
    const isOwn = (streamId & 1) === this.#ownParity
    switch (type) {
      case FrameType.REQUEST_RESPONSE:
      case FrameType.REQUEST_FNF:
        if (isOwn) return
        return this.#request({ type, streamId, initialN: 1, complete: false }, flags, buffer, at, end)
      case FrameType.REQUEST_STREAM:
      case FrameType.REQUEST_CHANNEL: {
        if (isOwn) return
        need(at + 4 <= end, 'a demand')
        const initialN = readUint31(buffer, at)
        if (initialN === 0)
          return this.#wire.error(streamId, ErrorCode.INVALID, 'The initial demand must be 1 or more')
        const complete = type === FrameType.REQUEST_CHANNEL && (flags & Flag.COMPLETE) !== 0
        return this.#request({ type, streamId, initialN, complete }, flags, buffer, at + 4, end)
      }
      case FrameType.PAYLOAD:
        return this.#payload(isOwn, streamId, flags, readPayload(buffer, flags, at, end))
      case FrameType.REQUEST_N: {
        need(at + 4 <= end, 'a demand')
        const n = readUint31(buffer, at)
        if (n === 0) return
        return isOwn ? this.requester?.requestN(streamId, n) : this.responder?.requestN(streamId, n)
      }
      case FrameType.CANCEL:
        // A CANCEL of our own stream ends only its input. The answer continues, and its fragments may be stored here.
        if (isOwn) return this.requester?.inputCanceled(streamId)
        this.#fragments?.drop(streamId)
        return this.responder?.cancel(streamId)
      case FrameType.ERROR:
        need(at + 4 <= end, 'an error code')
        this.#fragments?.drop(streamId)
        return this.#error(isOwn, streamId, readUint32(buffer, at), text.read(buffer, at + 4, end))
      default:
        return unknownFrame(type, flags)
    }
  }

  #request(request: RequestFrame, flags: number, buffer: Uint8Array, at: number, end: number): void {
    const payload = readPayload(buffer, flags, at, end)
    if ((flags & Flag.FOLLOWS) === 0) return this.#requested(request, payload)
    this.#fragments ??= new Reassembler(this.#maxMessageSize)
    if (!this.#fragments.has(request.streamId)) this.#fragments.add(request.streamId, request, payload)
  }

  #requested(request: RequestFrame, payload: Payload): void {
    if (this.responder !== undefined) return this.responder.request(request, payload)
    if (request.type === FrameType.REQUEST_FNF) return
    this.#wire.error(request.streamId, ErrorCode.REJECTED, 'This side of the connection answers no requests')
  }

  #payload(isOwn: boolean, streamId: number, flags: number, payload: Payload): void {
    // "A PAYLOAD with both F and C flags set, implicitly ignores the F flag."
    if (flags & Flag.FOLLOWS && (flags & Flag.COMPLETE) === 0) {
      this.#fragments ??= new Reassembler(this.#maxMessageSize)
      return this.#fragments.add(streamId, { type: FrameType.PAYLOAD }, payload)
    }
    const whole = this.#fragments?.end(streamId, payload)
    if (whole !== undefined && whole.first.type !== FrameType.PAYLOAD) {
      const request = whole.first as RequestFrame
      const complete = request.complete || (flags & Flag.COMPLETE) !== 0
      return this.#requested({ ...request, complete }, whole.payload)
    }
    const complete = whole?.payload ?? payload
    if (isOwn) this.requester?.payload(streamId, flags, complete)
    else this.responder?.payload(streamId, flags, complete)
  }

  #error(isOwn: boolean, streamId: number, code: number, data: string): void {
    if (isOwn) return this.requester?.error(streamId, code, data)
    const failure = new ProtocolError(`The caller's input failed (${errorCodeName(code)}): ${data}`)
    this.responder?.cancel(streamId, failure)
  }
}

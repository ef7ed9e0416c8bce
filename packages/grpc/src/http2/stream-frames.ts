/** Handles the frames of streams: fields, data, resets and windows. RFC 9113, sections 5.1, 6.1 to 6.4, 6.9 and 8.1. */
import { readUint31, readUint32 } from '@elysia-microservices/transport/kit'
import { ConnectionFault, ErrorCode, protocolFault, StreamFault } from './error-code.ts'
import { FieldInput, type ReceivedFields } from './field-input.ts'
import { contentOf } from './frame-rules.ts'
import { Flag, FrameType } from './frame-type.ts'
import { contentLengthOf, statusOf, wrongRequest, wrongResponse, wrongTrailers } from './message-fields.ts'
import { type Http2Stream, Phase } from './stream.ts'
import { Closed } from './streams.ts'
import type { Wire } from './wire.ts'

const FIRST_FINAL_STATUS = 200

/** The messages of the peer that begin streams. */
export interface StreamStarts {
  /** Whether the peer was told the last stream that is handled: see `Drain`. */
  readonly isBeyond: boolean
  /** A request has arrived. */
  begin(stream: Http2Stream, received: ReceivedFields): void
  /** A request was refused because of a limit. */
  refused(what: 'streams' | 'headers', reason: string): void
  /** Whether the peer knows our limits. */
  readonly isAcknowledged: boolean
}

/** Handles the frames of the streams of one connection. */
export class StreamFrames {
  readonly #wire: Wire
  readonly #starts: StreamStarts
  readonly #fields: FieldInput

  constructor(wire: Wire, starts: StreamStarts) {
    this.#wire = wire
    this.#starts = starts
    this.#fields = new FieldInput(wire.limits)
  }

  /** The stream whose CONTINUATION must be the next frame; 0 if there is none. */
  get awaited(): number {
    return this.#fields.awaited
  }

  // ── fields ───────────────────────────────────────────────────────────────────────────────────────────

  headers(flags: number, id: number, buffer: Uint8Array, start: number, end: number): void {
    const content = contentOf(FrameType.HEADERS, flags, id, buffer, start, end)
    const fields = this.#fields.begin(id, flags, content.isCircular, buffer, content.start, content.end)
    if (fields !== undefined) this.#received(fields)
  }

  continuation(flags: number, id: number, buffer: Uint8Array, start: number, end: number): void {
    const fields = this.#fields.go(id, flags, buffer, start, end)
    if (fields !== undefined) this.#received(fields)
  }

  #received(received: ReceivedFields): void {
    const { streams, role, guard } = this.#wire
    const { streamId: id, list, isCircular } = received
    if (list.isTooLarge) guard.overlong(list.excess)
    const stream = streams.get(id)
    const isOfPeer = this.#wire.isOfPeer(id)
    if (stream !== undefined) {
      if (isCircular) throw circular(id)
      if (!stream.isReceiving) throw closed(id)
      if (list.isTooLarge) throw tooLarge(id)
      guard.content()
      if (stream.phase === Phase.HEAD) this.#head(stream, received)
      else this.#trailers(stream, received)
    } else if (!streams.isIdle(id, isOfPeer)) this.#onClosed(id)
    else if (role === 'client' || !isOfPeer) throw protocolFault(`Fields came for the unknown stream ${id}`)
    else this.#request(received)
  }

  #request(received: ReceivedFields): void {
    const { streams, limits, guard } = this.#wire
    const { streamId: id, list, isCircular, isLast } = received
    streams.lastOfPeer = id
    if (this.#starts.isBeyond) {
      streams.remember(id, Closed.RESET_BY_US)
      return guard.idleFrame()
    }
    streams.lastHandled = id
    guard.content()
    if (isCircular) throw circular(id)
    if (streams.ofPeer >= limits.streams) return this.#refuse(id)
    if (list.isTooLarge) {
      const { fieldsSize, fields } = limits
      this.#starts.refused('headers', `a call has more fields than ${fieldsSize} bytes or ${fields} names`)
      throw tooLarge(id)
    }
    const wrong = wrongRequest(list.fields)
    if (wrong !== undefined) throw malformed(id, `A request is malformed: ${wrong}`)
    const promised = promisedBy(id, received)
    const stream = this.#wire.newStream(id, Phase.BODY)
    stream.promised = promised
    if (isLast) stream.endRemote()
    this.#starts.begin(stream, received)
  }

  #refuse(id: number): void {
    const { guard, streams, limits } = this.#wire
    this.#starts.refused(
      'streams',
      `a client has more calls in flight than limits.streams allows (${limits.streams})`
    )
    // A client may open any number until it knows the limit.
    if (this.#starts.isAcknowledged) guard.mistaken()
    else guard.idleFrame()
    streams.remember(id, Closed.RESET_BY_US)
    this.#wire.reset(id, ErrorCode.REFUSED_STREAM)
  }

  #head(stream: Http2Stream, received: ReceivedFields): void {
    const { fields } = received.list
    const { id } = stream
    const wrong = wrongResponse(fields)
    if (wrong !== undefined) throw malformed(id, `A response is malformed: ${wrong}`)
    const status = statusOf(fields)
    if (status < FIRST_FINAL_STATUS) {
      if (received.isLast) throw malformed(id, `A response ends with the status ${status}`)
      return this.#wire.guard.idleFrame()
    }
    stream.phase = Phase.BODY
    const hasNoBody = status === 204 || status === 304
    stream.promised = hasNoBody ? -1 : promisedBy(id, received)
    const { isLast } = received
    this.#endIf(isLast, stream)
    stream.listener.head(fields, isLast)
  }

  #trailers(stream: Http2Stream, { list: { fields }, isLast }: ReceivedFields): void {
    const { id } = stream
    if (!isLast) throw malformed(id, 'Fields within a message do not end it')
    const wrong = wrongTrailers(fields)
    if (wrong !== undefined) throw malformed(id, `Trailers are malformed: ${wrong}`)
    if (stream.promised > 0) throw malformed(id, 'A message is shorter than its content-length')
    this.#endIf(true, stream)
    stream.listener.trailers(fields)
  }

  // ── data ─────────────────────────────────────────────────────────────────────────────────────────────

  data(flags: number, id: number, buffer: Uint8Array, start: number, end: number): void {
    const { window, streams, guard } = this.#wire
    const length = end - start
    const isLast = (flags & Flag.END_STREAM) !== 0
    const content = contentOf(FrameType.DATA, flags, id, buffer, start, end)
    const size = content.end - content.start
    if (!window.take(length))
      throw new ConnectionFault(ErrorCode.FLOW_CONTROL_ERROR, 'Data is beyond the window of the connection')
    if (size > 0 || isLast) guard.content()
    else guard.idleFrame()
    const stream = streams.get(id)
    if (stream === undefined) {
      this.#wire.giveBack(length)
      if (streams.isIdle(id, this.#wire.isOfPeer(id))) throw protocolFault(`Data of the idle stream ${id}`)
      return this.#onClosed(id)
    }
    stream.unread += length
    if (!stream.isReceiving) throw closed(id)
    if (stream.phase === Phase.HEAD) throw malformed(id, 'Data stands before the response')
    if (!stream.receiveWindow.take(length))
      throw new StreamFault(id, ErrorCode.FLOW_CONTROL_ERROR, 'Data is beyond the window of the stream')
    this.#count(stream, size, isLast)
    if (length > size) this.#wire.consumed(stream, length - size)
    const from = content.start
    this.#endIf(isLast, stream)
    stream.listener.data(buffer, from, from + size, isLast)
  }

  /** Compares the data with the content-length of its message. */
  #count(stream: Http2Stream, size: number, isLast: boolean): void {
    if (stream.promised < 0) return
    stream.promised -= size
    if (stream.promised < 0 || (isLast && stream.promised > 0))
      throw malformed(stream.id, 'A message has another length than its content-length')
  }

  /** Ends the peer's half of a stream, before its listener hears of the last part. */
  #endIf(isLast: boolean, stream: Http2Stream): void {
    if (!isLast) return
    stream.endRemote()
    if (!stream.isSending) this.#wire.done(stream)
  }

  // ── resets and windows ───────────────────────────────────────────────────────────────────────────────

  reset(id: number, buffer: Uint8Array, start: number): void {
    const stream = this.#known(id, 'RST_STREAM')
    if (stream === undefined) return this.#wire.guard.idleFrame()
    const errorCode = readUint32(buffer, start)
    if (this.#wire.role === 'server') this.#wire.guard.canceled(stream.openedAt)
    const mayHaveRun = errorCode !== ErrorCode.REFUSED_STREAM
    this.#wire.end(stream, Closed.RESET_BY_PEER, { errorCode, isByPeer: true, mayHaveRun })
  }

  windowUpdate(id: number, buffer: Uint8Array, start: number): void {
    const { sender, guard } = this.#wire
    const increment = readUint31(buffer, start)
    guard.idleFrame()
    if (id === 0) {
      if (increment === 0) throw protocolFault('WINDOW_UPDATE has the increment 0')
      return sender.connectionWindow(increment)
    }
    const stream = this.#known(id, 'WINDOW_UPDATE')
    if (stream === undefined) return
    if (increment === 0) throw malformed(id, 'WINDOW_UPDATE has the increment 0')
    sender.streamWindow(stream, increment)
  }

  priority(id: number, buffer: Uint8Array, start: number): void {
    this.#wire.guard.idleFrame()
    if (readUint31(buffer, start) === id) throw circular(id)
  }

  /** The stream of a frame; `undefined` if it is closed. */
  #known(id: number, type: string): Http2Stream | undefined {
    const { streams } = this.#wire
    const stream = streams.get(id)
    if (stream === undefined && streams.isIdle(id, this.#wire.isOfPeer(id)))
      throw protocolFault(`${type} of the idle stream ${id}`)
    return stream
  }

  /** Fields or data of a closed stream. */
  #onClosed(id: number): void {
    const how = this.#wire.streams.howClosed(id)
    if (how === Closed.RESET_BY_US) return this.#wire.guard.idleFrame()
    if (how === Closed.RESET_BY_PEER) throw closed(id)
    if (how === Closed.DONE)
      throw new ConnectionFault(ErrorCode.STREAM_CLOSED, `A frame came for the closed stream ${id}`)
    throw protocolFault(`A frame came for stream ${id}, which was never opened or is long closed`)
  }
}

/** The length that a message promises to have. */
function promisedBy(id: number, { list: { fields }, isLast }: ReceivedFields): number {
  const promised = contentLengthOf(fields)
  if (promised === undefined || (isLast && promised > 0))
    throw malformed(id, 'A message has a wrong content-length')
  return promised
}

const malformed = (id: number, message: string) => new StreamFault(id, ErrorCode.PROTOCOL_ERROR, message)
const circular = (id: number) => malformed(id, 'A stream depends on itself')
const closed = (id: number) =>
  new StreamFault(id, ErrorCode.STREAM_CLOSED, 'A frame came for a closed stream')
const tooLarge = (id: number) =>
  new StreamFault(id, ErrorCode.ENHANCE_YOUR_CALM, 'The fields of a message are more than the limits allow')

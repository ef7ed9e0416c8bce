/** Handles the frames of a connection: which rule a frame must keep, and who handles it. RFC 9113, sections 5 and 6. */
import { shown } from '@elysia-microservices/transport/kit'
import { ConnectionFrames, type GoAway } from './connection-frames.ts'
import { Drain } from './drain.ts'
import { ConnectionFault, protocolFault, StreamFault } from './error-code.ts'
import type { ReceivedFields } from './field-input.ts'
import type { FrameHandler } from './frame-input.ts'
import type { FrameReader } from './frame-reader.ts'
import { checkFrame } from './frame-rules.ts'
import { FrameType } from './frame-type.ts'
import type { Field } from './hpack/field.ts'
import type { Http2Stream } from './stream.ts'
import { StreamFrames, type StreamStarts } from './stream-frames.ts'
import { Closed } from './streams.ts'
import type { Wire } from './wire.ts'

/** Receives the events of a connection. Its methods must not throw: an error would end the connection. */
export interface Listener {
  /**
   * Server: a request has arrived. Sets the listener of its stream, on which the method may then answer.
   * @param isLast nothing comes behind the fields
   */
  request?(stream: Http2Stream, fields: readonly Field[], isLast: boolean): void
  /** Server: a request was refused because of a limit. @param reason why, for the log */
  refused?(what: 'streams' | 'headers', reason: string): void
  /** A stream has ended, settings have come, or the peer goes away: more streams may be opened, or no more. */
  changed?(): void
}

/** Handles the frames of one connection. */
export class ReceivedFrames implements FrameHandler, StreamStarts {
  readonly #wire: Wire
  readonly #listener: Listener
  readonly #ended: () => void
  readonly #connection: ConnectionFrames
  readonly #streams: StreamFrames
  readonly #drain: Drain

  /** @param ended the connection has failed: nothing more is handled */
  constructor(wire: Wire, listener: Listener, ended: () => void) {
    this.#wire = wire
    this.#listener = listener
    this.#ended = ended
    this.#connection = new ConnectionFrames(wire)
    this.#streams = new StreamFrames(wire, this)
    this.#drain = new Drain(wire)
    wire.settled = () => {
      this.#drain.settled()
      listener.changed?.()
    }
  }

  /** Whether the settings of the peer, or the rest of a message's fields, have not arrived. */
  get incomplete(): boolean {
    return !this.isSettled || this.#streams.awaited !== 0
  }

  /** Whether the settings of the peer have arrived. */
  get isSettled(): boolean {
    return this.#connection.isSettled
  }

  /** See `StreamStarts`. */
  get isAcknowledged(): boolean {
    return this.#connection.isAcknowledged
  }

  /** Why the peer ends the connection; `undefined` while it does not. */
  get goAway(): GoAway | undefined {
    return this.#connection.goAway
  }

  /** Sends a PING. @param answered is called with its answer */
  ping(answered: () => void): void {
    this.#connection.sendPing(answered)
  }

  /** See `Drain`. */
  drain(reason: string): void {
    this.#drain.begin(reason, (answered) => this.ping(answered))
  }

  get mayHandle(): boolean {
    return !this.#wire.isEnded && this.#wire.output?.isBlocked !== true
  }

  handleFrame(reader: FrameReader): void {
    try {
      this.#handle(reader)
    } catch (error) {
      if (!(error instanceof StreamFault)) throw error
      this.#reset(error)
    }
  }

  failed(error: Error): void {
    this.#wire.fail(error)
    this.#ended()
  }

  #handle({ type, flags, streamId, buffer, start, end }: FrameReader): void {
    if (!this.isSettled && type !== FrameType.SETTINGS)
      throw protocolFault(`The first frame has the type ${type}; it must be SETTINGS`)
    const { awaited } = this.#streams
    if (awaited !== 0 && type !== FrameType.CONTINUATION)
      throw protocolFault(`The fields of stream ${awaited} were interrupted by a frame of type ${type}`)
    checkFrame(type, flags, streamId, end - start)
    switch (type) {
      case FrameType.DATA:
        return this.#streams.data(flags, streamId, buffer, start, end)
      case FrameType.HEADERS:
        return this.#streams.headers(flags, streamId, buffer, start, end)
      case FrameType.CONTINUATION:
        return this.#streams.continuation(flags, streamId, buffer, start, end)
      case FrameType.WINDOW_UPDATE:
        return this.#streams.windowUpdate(streamId, buffer, start)
      case FrameType.RST_STREAM:
        return this.#streams.reset(streamId, buffer, start)
      case FrameType.PRIORITY:
        return this.#streams.priority(streamId, buffer, start)
      case FrameType.SETTINGS:
        this.#connection.settings(flags, buffer, start, end)
        return this.#listener.changed?.()
      case FrameType.PING:
        return this.#connection.ping(flags, buffer, start)
      case FrameType.GOAWAY:
        return this.#goingAway(this.#connection.goingAway(buffer, start, end))
      case FrameType.PUSH_PROMISE:
        throw protocolFault('The peer pushes, which it was not allowed to do')
      default:
        // "Implementations MUST ignore and discard frames of unknown types."
        this.#wire.guard.idleFrame()
    }
  }

  /** An error of one stream. */
  #reset(fault: StreamFault): void {
    const { streams, guard } = this.#wire
    const { streamId, errorCode } = fault
    const stream = streams.get(streamId)
    // A stream that is idle cannot be reset.
    if (stream === undefined && streams.isIdle(streamId, this.#wire.isOfPeer(streamId)))
      throw new ConnectionFault(errorCode, fault.message)
    guard.mistaken()
    if (stream === undefined) streams.remember(streamId, Closed.RESET_BY_US)
    this.#wire.reset(streamId, errorCode)
    if (stream === undefined) return
    const end = { errorCode, isByPeer: false, mayHaveRun: true, reason: fault }
    this.#wire.end(stream, Closed.RESET_BY_US, end)
  }

  /** Ends the streams that the peer has not handled. */
  #goingAway({ lastStreamId, errorCode, reason }: GoAway): void {
    const end = {
      errorCode,
      isByPeer: true,
      mayHaveRun: false,
      ...(reason !== '' && { reason: new Error(shown(reason)) })
    }
    for (const stream of this.#wire.streams.all)
      if (!this.#wire.isOfPeer(stream.id) && stream.id > lastStreamId)
        this.#wire.end(stream, Closed.RESET_BY_PEER, end)
    this.#listener.changed?.()
  }

  // ── called by the streams' frames ────────────────────────────────────────────────────────────────────

  get isBeyond(): boolean {
    return this.#drain.isBeyond
  }

  refused(what: 'streams' | 'headers', reason: string): void {
    this.#listener.refused?.(what, reason)
  }

  begin(stream: Http2Stream, { list, isLast }: ReceivedFields): void {
    this.#listener.request?.(stream, list.fields, isLast)
  }
}

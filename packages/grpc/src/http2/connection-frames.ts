/** Handles the frames of the connection: SETTINGS, PING and GOAWAY. RFC 9113, sections 6.5, 6.7 and 6.8. */
import { readUint31, readUint32, text } from '@elysia-microservices/transport/kit'
import { protocolFault } from './error-code.ts'
import { Flag, MAX_UINT31, PING_LENGTH } from './frame-type.ts'
import { writePing, writeSettingsAck } from './frames.ts'
import type { Wire } from './wire.ts'

/** Streams whose windows SETTINGS change for the price of one frame. */
const STREAMS_PER_POINT = 16
/** Most characters of the peer's reason that are kept. */
const LONGEST_REASON = 256
const GOAWAY_LENGTH = 8

/** Why and how far the peer ends the connection. */
export interface GoAway {
  /** The last stream of this side that the peer has handled or may handle. */
  readonly lastStreamId: number
  /** One of `ErrorCode`. */
  readonly errorCode: number
  /** Why, in the words of the peer; perhaps empty. */
  readonly reason: string
}

/** Handles the frames of one connection. */
export class ConnectionFrames {
  readonly #wire: Wire
  /** The settings of the peer have arrived. */
  isSettled = false
  /** The peer knows our settings. */
  isAcknowledged = false
  /** The peer ends the connection; `undefined` while it does not. */
  goAway: GoAway | undefined
  readonly #pings = new Map<number, () => void>()
  #lastPing = 0

  constructor(wire: Wire) {
    this.#wire = wire
  }

  settings(flags: number, buffer: Uint8Array, start: number, end: number): void {
    const { guard, streams, settings, sender, encoder, role } = this.#wire
    const isAnswer = (flags & Flag.ACK) !== 0
    guard.idleFrame(isAnswer ? 1 : 1 + Math.floor(streams.size / STREAMS_PER_POINT))
    if (isAnswer) {
      if (!this.isSettled) throw protocolFault('The first frame is the answer to SETTINGS')
      this.isAcknowledged = true
      return
    }
    const window = settings.initialWindow
    settings.read(buffer, start, end, role === 'client')
    this.isSettled = true
    encoder.resize(settings.headerTableSize)
    writeSettingsAck(this.#wire.bytes)
    this.#wire.committed()
    if (settings.initialWindow !== window) sender.changeWindows(streams.all, settings.initialWindow - window)
  }

  /** Sends a PING. @param answered is called with its answer */
  sendPing(answered: () => void): void {
    const payload = new Uint8Array(PING_LENGTH)
    new DataView(payload.buffer).setUint32(0, ++this.#lastPing)
    this.#pings.set(this.#lastPing, answered)
    writePing(this.#wire.bytes, false, payload)
    this.#wire.committed()
  }

  ping(flags: number, buffer: Uint8Array, start: number): void {
    this.#wire.guard.idleFrame()
    if ((flags & Flag.ACK) === 0) {
      this.#wire.guard.ping()
      writePing(this.#wire.bytes, true, buffer, start)
      return this.#wire.committed()
    }
    const id = readUint32(buffer, start)
    const answered = this.#pings.get(id)
    this.#pings.delete(id)
    answered?.()
  }

  /** Reads GOAWAY. The last stream never becomes a later one. */
  goingAway(buffer: Uint8Array, start: number, end: number): GoAway {
    this.#wire.guard.idleFrame()
    const from = start + GOAWAY_LENGTH
    this.goAway = {
      lastStreamId: Math.min(this.goAway?.lastStreamId ?? MAX_UINT31, readUint31(buffer, start)),
      errorCode: readUint32(buffer, start + 4),
      reason: text.latin1(buffer, from, Math.min(end, from + LONGEST_REASON))
    }
    return this.goAway
  }
}

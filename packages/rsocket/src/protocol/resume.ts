/**
 * The state with which a lost connection can be resumed: the frames that this end has sent, and the position up to which
 * it has received. Positions count bytes of stream frames, without length fields. Protocol.md, "Resuming Operation".
 */
import { readUint24 } from '@elysia-microservices/transport/kit'
import { FrameType, LENGTH_FIELD } from './frame-type.ts'

/** Options of resuming: how long a lost connection can be resumed, and how many bytes are stored for it. */
export interface ResumeOptions {
  /** Milliseconds within which a lost connection can be resumed. Default: 60,000. */
  readonly window?: number
  /** Most bytes of sent frames that are stored. Default: 8,388,608. */
  readonly bufferSize?: number
}

/** Options of resuming on a server, which must also limit what lost connections cost. */
export interface ServerResumeOptions extends ResumeOptions {
  /**
   * Most lost connections that wait for their clients. The connections of one address may take a quarter of them. When
   * the limit is exceeded, the connection that has waited longest is dropped. Default: 1,000.
   */
  readonly waiting?: number
  /**
   * Most bytes of sent frames that are stored for all waiting connections together. Limited per address in the same
   * way. Default: 67,108,864.
   */
  readonly waitingSize?: number
}

/** The defaults of resuming. */
export const RESUME_DEFAULTS: Required<ResumeOptions> = { window: 60_000, bufferSize: 8_388_608 }
/** The defaults of resuming on a server. */
export const SERVER_RESUME_DEFAULTS: Required<ServerResumeOptions> = {
  window: 60_000,
  bufferSize: 8_388_608,
  waiting: 1_000,
  waitingSize: 67_108_864
}

/** Whether frames of this type count for positions: requests, REQUEST_N, CANCEL, PAYLOAD, ERROR. */
export function hasPosition(type: number): boolean {
  return type >= FrameType.REQUEST_RESPONSE && type <= FrameType.ERROR
}

/** The state of one end of a resumable connection. */
export class ResumeState {
  readonly token: Uint8Array
  readonly #bufferSize: number
  /** Sent frames with their length fields, oldest first; frames before `#head` are dropped. */
  #frames: Uint8Array[] = []
  #head = 0
  #kept = 0
  #first = 0
  /** Position behind the last stream frame received. */
  received = 0
  /**
   * Whether the other side certainly has the connection. Until then it cannot be resumed if SETUP was lost, and events
   * that were sent are lost with it.
   */
  isKnown = true
  /** Called with the number of bytes that are stored in addition. Set while the connection waits. */
  grown: ((bytes: number) => void) | undefined

  constructor(token: Uint8Array, bufferSize: number) {
    this.token = token
    this.#bufferSize = bufferSize
  }

  /** Position of the oldest frame that can be sent again. */
  get firstAvailable(): number {
    return this.#first
  }

  /** Bytes of sent frames that are stored. */
  get kept(): number {
    return this.#kept
  }

  /** Position behind the last frame sent. */
  get sentPosition(): number {
    return this.#first + this.#kept
  }

  /** Stores sent frames: one or several, each with its length field. */
  sent(bytes: Uint8Array): void {
    const before = this.#kept
    for (let at = 0; at < bytes.length; ) {
      const end = at + LENGTH_FIELD + readUint24(bytes, at)
      this.#frames.push(at === 0 && end === bytes.length ? bytes : bytes.subarray(at, end))
      this.#kept += end - at - LENGTH_FIELD
      at = end
    }
    while (this.#kept > this.#bufferSize) this.#dropOldest()
    this.grown?.(this.#kept - before)
  }

  /** Drops the frames before this position, because the other side has received them. */
  acknowledged(position: number): void {
    while (this.#head < this.#frames.length && this.#first + this.#sizeOf(this.#head) <= position)
      this.#dropOldest()
  }

  /** Whether all frames from this position on are still stored. */
  canResumeFrom(position: number): boolean {
    return position >= this.#first && position <= this.sentPosition
  }

  /** Returns the frames from a position on, to send them again. Drops the earlier frames. */
  framesFrom(position: number): Uint8Array[] {
    this.acknowledged(position)
    return this.#frames.slice(this.#head)
  }

  #sizeOf(index: number): number {
    return (this.#frames[index] as Uint8Array).length - LENGTH_FIELD
  }

  #dropOldest(): void {
    const size = this.#sizeOf(this.#head)
    this.#first += size
    this.#kept -= size
    this.#head++
    if (this.#head < 1024 || this.#head * 2 < this.#frames.length) return
    this.#frames = this.#frames.slice(this.#head)
    this.#head = 0
  }
}

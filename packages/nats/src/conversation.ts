/**
 * What a client knows of a call that is more than a question and an answer: where its service is to be reached, how
 * many values it has granted, which message comes next.
 */
import { ConnectionError, type PendingCall, ProtocolError } from '@elysia-microservices/transport/kit'
import type { Link } from './link.ts'
import {
  joined,
  LOST_AFTER,
  MAX_MESSAGE,
  numberAt,
  PART_WINDOW,
  partsOf,
  prefixed,
  STREAM_WINDOW,
  Told
} from './wire.ts'

/** One call that lasts. */
export class Conversation {
  readonly call: PendingCall
  /** Bytes that the stream may have on their way; 0: there is no stream. */
  readonly window: number
  readonly #link: Link
  /** The reply subject of the call, on which the service answers a beat. */
  readonly #replyTo: string
  /** Where the service is to be reached; `undefined` until it has said so. */
  #control: string | undefined
  /** The number of the last message. */
  #received = 0
  #granted: number
  #read = 0
  #told = 0
  #heardAt = performance.now()
  #parts: Uint8Array[] = []
  #partsSize = 0
  /** Parts of the request that are to be sent, and how many bytes of it are. */
  #unsent: Uint8Array[] = []
  #sent = 0
  /** Values of the channel: sent, and granted since the beginning. */
  #inputCount = 0
  #inputGranted = 0
  /** What was to be said before the service could be reached. */
  #early: (string | Uint8Array)[] = []

  constructor(link: Link, call: PendingCall, replyTo: string, granted: number, window: number) {
    this.#link = link
    this.call = call
    this.window = window
    this.#replyTo = replyTo
    this.#granted = granted
  }

  /** The service has said where it can be reached. */
  get isReached(): boolean {
    return this.#control !== undefined
  }

  // ── what the service says ────────────────────────────────────────────────────────────────────────────

  /**
   * A message has come. @param control its reply subject: where the service is to be reached, and the message's number
   * @param isNumbered it counts: a value, a part, an end
   * @throws {ConnectionError} one before it is missing
   */
  heard(control: string, isNumbered: boolean): void {
    this.#heardAt = performance.now()
    if (control === '') return
    const number = numberAt(control, control.lastIndexOf('.') + 1)
    if (isNumbered) this.#received++
    if (number !== this.#received)
      throw new ConnectionError('A message of the stream was lost on its way, as a NATS server was', true)
    this.#control = control
    if (this.#early.length > 0) for (const words of this.#early.splice(0)) this.say(words)
  }

  /** A part of a large answer; gives the whole with the last one. */
  part(bytes: Uint8Array, isLast: boolean): Uint8Array | undefined {
    this.#partsSize += bytes.length
    if (this.#partsSize > MAX_MESSAGE) throw new ProtocolError(`An answer has more than ${MAX_MESSAGE} bytes`)
    this.#parts.push(isLast ? bytes : new Uint8Array(bytes))
    if (!isLast) return undefined
    const whole = joined(this.#parts)
    this.#parts = []
    this.#partsSize = 0
    return whole
  }

  // ── what the caller says ─────────────────────────────────────────────────────────────────────────────

  /** Says something as soon as the service can be reached. */
  say(words: string | Uint8Array, reply?: string): void {
    if (this.#control === undefined) this.#early.push(words)
    else this.#link.publish(this.#control, words, reply)
  }

  cancel(): void {
    // What could not be said is answered when the service says where it is.
    if (this.#control !== undefined) this.#link.publish(this.#control, Told.canceled)
  }

  /** Grants more values. */
  grant(n: number): void {
    this.#granted += n
    this.#tell()
  }

  /** Bytes have come. */
  read(size: number): void {
    this.#read += size
    // Told in time, the service does not have to wait.
    if (this.#read - this.#told >= (this.window || STREAM_WINDOW) / 4) this.#tell()
  }

  #tell(): void {
    this.#told = this.#read
    if (this.#control !== undefined) this.say(`${Told.granted}${this.#granted},${this.#read}`)
  }

  /** Asks the service whether it is still there. @throws {ConnectionError} it has not answered for long */
  beat(now: number): void {
    if (this.#control === undefined) return
    if (now - this.#heardAt > LOST_AFTER) throw serviceGone()
    this.say(`${Told.granted}${this.#granted},${this.#told}`, this.#replyTo)
  }

  /** There is a server again. */
  restored(now: number): void {
    this.#heardAt = now
  }

  // ── large requests, channels ─────────────────────────────────────────────────────────────────────────

  /** The rest of a request whose first `sent` bytes are on their way. */
  sendLater(rest: Uint8Array, size: number, sent: number): void {
    this.#unsent = [...partsOf(rest, size)]
    this.#sent = sent
  }

  /** So many bytes of the request have come. */
  sendParts(received: number): void {
    for (let next = this.#unsent[0]; next !== undefined; next = this.#unsent[0]) {
      if (this.#sent - received > PART_WINDOW) return
      this.#unsent.shift()
      this.#sent += next.length
      this.say(prefixed(Told.part, next))
    }
  }

  /** A value of the channel; `undefined` as nothing. */
  sendInput(json: string): void {
    this.say(`${Told.input}${++this.#inputCount} ${json}`)
  }

  endInput(): void {
    this.say(`${Told.inputEnded}${this.#inputCount}`)
  }

  /** The service grants values of the channel; gives how many are new. */
  inputGranted(total: number): number {
    const more = Math.max(0, total - this.#inputGranted)
    this.#inputGranted += more
    return more
  }
}

/** The service of a call has gone. */
export function serviceGone(): ConnectionError {
  return new ConnectionError('The service stopped, or was lost, before it had answered', true)
}

/**
 * The state of a call that needs more than one request and one answer, at its client: the address of its service, the
 * number of granted values, the number of the next message.
 */
import { ConnectionError, ProtocolError } from '@elysia-microservices/transport/kit'
import type { Carrier } from '../carrier.ts'
import { LOST_AFTER, numberIn, STREAM_WINDOW, Told } from '../words.ts'

/** One call that lasts. */
export class Conversation {
  /** Bytes that the stream may have in transit; 0: there is no stream. */
  readonly window: number
  readonly #carrier: Carrier
  /**
   * The reply address of the call, at which the service answers a beat (a question whether the service is still there).
   */
  readonly replyTo: string
  /**
   * The control address of the service without the number, with the dot at its end; empty until the service has sent
   * it.
   */
  #head = ''
  /** The control address with the number of the service's last message. */
  #control = ''
  /** The stream comes from a service that does not use this library. */
  #isForeign = false
  /** The number of the last message received. */
  #received = 0
  #granted: number
  #read = 0
  #told = 0
  #heardAt = performance.now()
  /** Values of the channel: the number sent (its end included), and the number granted since the beginning. */
  #inputCount = 0
  #inputGranted = 0
  /** Words to send as soon as the control address is known. */
  #early: string[] = []

  constructor(carrier: Carrier, replyTo: string, granted: number, window: number) {
    this.#carrier = carrier
    this.window = window
    this.replyTo = replyTo
    this.#granted = granted
  }

  /** The service has sent its control address. */
  get isReached(): boolean {
    return this.#control !== ''
  }

  // ── messages of the service ──────────────────────────────────────────────────────────────────────────

  /**
   * Takes note of a message that has arrived.
   * @param control the reply address of the message: the control address of the service, with the message's number
   * @param isNumbered the message has a number, as values and ends have
   * @returns false if the message must not be read, because it arrived twice or comes from a second service
   * @throws {ConnectionError} an earlier message is missing
   * @throws {ProtocolError} the reply address is not that of a service
   */
  heard(control: string, isNumbered: boolean): boolean {
    this.#heardAt = performance.now()
    if (control === '') {
      if (!isNumbered || this.window === 0) return true
      // The first service that answers serves the call. A second service that uses Nest cannot be told to stop.
      if (this.#head !== '') return false
      this.#isForeign = true
      return true
    }
    const end = control.lastIndexOf('.') + 1
    if (this.#head === '' && !this.#isForeign) {
      if (!this.#carrier.isInbox(control))
        throw new ProtocolError('A service has sent a control address that is not an inbox')
      this.#head = control.slice(0, end)
    } else if (this.#isForeign || !control.startsWith(this.#head) || end !== this.#head.length) {
      if (this.#carrier.isInbox(control)) this.#carrier.publish(control, Told.canceled)
      return false
    }
    const number = numberIn(control, end)
    if (number === -1) throw new ProtocolError('A message of a service has no number')
    if (isNumbered && number <= this.#received) return false
    if (isNumbered) this.#received++
    if (number > this.#received)
      throw new ConnectionError('A message of the stream was lost, because the engine lost a server', true)
    this.#control = control
    if (this.#early.length > 0) for (const words of this.#early.splice(0)) this.say(words)
    return true
  }

  // ── messages of the caller ───────────────────────────────────────────────────────────────────────────

  /** Sends words as soon as the control address is known. */
  say(words: string, reply?: string): void {
    if (this.#control === '') this.#early.push(words)
    else this.#carrier.publish(this.#control, words, reply)
  }

  /** Tells the service, which is reached, that the call is cancelled. */
  cancel(): void {
    this.#carrier.publish(this.#control, Told.canceled)
  }

  /** Grants more values. */
  grant(n: number): void {
    this.#granted += n
    this.#tell()
  }

  /**
   * Takes note that characters of values were read.
   * @param isPaused the reader has paused: the service is not told of these characters until the reader resumes
   */
  read(size: number, isPaused: boolean): void {
    this.#read += size
    // The service is told early, so that it does not have to wait.
    if (!isPaused && this.#read - this.#told >= (this.window || STREAM_WINDOW) / 4) this.#tell()
  }

  #tell(): void {
    this.#told = this.#read
    if (this.#control !== '') this.say(this.#figures)
  }

  /** With the number of the values sent, the service notices the loss of the last ones, behind which nothing comes. */
  get #figures(): string {
    const inputs = this.#inputCount === 0 ? '' : `,${this.#inputCount}`
    return `${Told.granted}${this.#granted},${this.#told}${inputs}`
  }

  /**
   * Asks the service whether it is still there.
   * @throws {ConnectionError} the service has not answered for too long
   */
  beat(now: number): void {
    if (this.#control === '') return
    if (now - this.#heardAt > LOST_AFTER) throw serviceGone()
    // Repeats the last figures, in case they were lost. Newer figures would let the service send more to a reader that
    // has paused.
    this.say(this.#figures, this.replyTo)
  }

  /** A server is back. */
  restored(now: number): void {
    this.#heardAt = now
  }

  // ── channels ─────────────────────────────────────────────────────────────────────────────────────────

  /**
   * Sends a value of the channel.
   * @param json empty for `undefined`
   */
  sendInput(json: string): void {
    this.say(`${Told.input}${++this.#inputCount} ${json}`)
  }

  endInput(): void {
    this.say(`${Told.inputEnded}${this.#inputCount++}`)
  }

  /** The service grants values of the channel; returns how many of them are new. */
  inputGranted(total: number): number {
    const more = Math.max(0, total - this.#inputGranted)
    this.#inputGranted += more
    return more
  }
}

/** Makes the error of a call whose service has gone. */
export function serviceGone(): ConnectionError {
  return new ConnectionError('The service stopped, or was lost, before it had answered', true)
}

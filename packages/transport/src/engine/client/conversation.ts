/**
 * The state of a call that is more than a question and an answer, at its client: where its service is to be reached,
 * how many values it has granted, which message comes next.
 */
import { ConnectionError, ProtocolError } from '../../errors/index.ts'
import type { Carrier } from '../carrier.ts'
import { LOST_AFTER, numberIn, STREAM_WINDOW, Told } from '../words.ts'

/** One call that lasts. */
export class Conversation {
  /** Bytes that the stream may have on their way; 0: there is no stream. */
  readonly window: number
  readonly #carrier: Carrier
  /** The reply address of the call, on which the service answers a beat. */
  readonly replyTo: string
  /** Where the service is to be reached, with the dot behind it; empty until it has said so. */
  #head = ''
  /** The same with the number of its last message. */
  #control = ''
  /** The stream is of a service that is not ours. */
  #isForeign = false
  /** The number of the last message. */
  #received = 0
  #granted: number
  #read = 0
  #told = 0
  #heardAt = performance.now()
  /** Values of the channel: sent, and granted since the beginning. */
  #inputCount = 0
  #inputGranted = 0
  /** Words to send once the service can be reached. */
  #early: string[] = []

  constructor(carrier: Carrier, replyTo: string, granted: number, window: number) {
    this.#carrier = carrier
    this.window = window
    this.replyTo = replyTo
    this.#granted = granted
  }

  /** The service has said where it can be reached. */
  get isReached(): boolean {
    return this.#control !== ''
  }

  // ── what the service says ────────────────────────────────────────────────────────────────────────────

  /**
   * A message has come.
   * @param control its reply address: where the service is to be reached, and the message's number
   * @param isNumbered it counts: a value, an end
   * @returns false: it is not to be read, because it came twice, or from a second service
   * @throws {ConnectionError} one before it is missing
   * @throws {ProtocolError} its reply address is not that of a service
   */
  heard(control: string, isNumbered: boolean): boolean {
    this.#heardAt = performance.now()
    if (control === '') {
      if (!isNumbered || this.window === 0) return true
      // The first that answers serves the call; a second one of Nest's cannot be told.
      if (this.#head !== '') return false
      this.#isForeign = true
      return true
    }
    const end = control.lastIndexOf('.') + 1
    if (this.#head === '' && !this.#isForeign) {
      if (!this.#carrier.isInbox(control))
        throw new ProtocolError('A service asked for replies at an address that is no inbox of its own')
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

  // ── what the caller says ─────────────────────────────────────────────────────────────────────────────

  /** Says something as soon as the service can be reached. */
  say(words: string, reply?: string): void {
    if (this.#control === '') this.#early.push(words)
    else this.#carrier.publish(this.#control, words, reply)
  }

  cancel(): void {
    // Without a control address the service cannot be told yet; it is told when its first message names the address.
    if (this.#control !== '') this.#carrier.publish(this.#control, Told.canceled)
  }

  /** Grants more values. */
  grant(n: number): void {
    this.#granted += n
    this.#tell()
  }

  /** Characters of values have come. @param isPaused their reader has enough: they are not told until it goes on */
  read(size: number, isPaused: boolean): void {
    this.#read += size
    // Told in time, the service does not have to wait.
    if (!isPaused && this.#read - this.#told >= (this.window || STREAM_WINDOW) / 4) this.#tell()
  }

  #tell(): void {
    this.#told = this.#read
    if (this.#control !== '') this.say(`${Told.granted}${this.#granted},${this.#read}`)
  }

  /** Asks the service whether it is still there. @throws {ConnectionError} it has not answered for long */
  beat(now: number): void {
    if (this.#control === '') return
    if (now - this.#heardAt > LOST_AFTER) throw serviceGone()
    // Repeats the last figures, in case they were lost. Newer ones would let the service send more to a reader that has
    // paused.
    this.say(`${Told.granted}${this.#granted},${this.#told}`, this.replyTo)
  }

  /** There is a server again. */
  restored(now: number): void {
    this.#heardAt = now
  }

  // ── channels ─────────────────────────────────────────────────────────────────────────────────────────

  /** Sends a value of the channel. @param json empty for `undefined` */
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

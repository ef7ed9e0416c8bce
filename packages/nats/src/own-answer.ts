/**
 * The answer to a caller of ours: values as far as it has granted demand, several of one turn in one message, each
 * message with a number, so that a message that a broken server has lost is noticed.
 */
import {
  errorToText,
  failurePacket,
  type IncomingMessage,
  InputStream,
  isRejected,
  LONGEST_TIME,
  type Logger,
  OutgoingValues,
  ProtocolError,
  toJson,
  valuePacket
} from '@elysia-microservices/transport/kit'
import { type Control, type Controlled, readGrant } from './control.ts'
import type { Link } from './link.ts'
import {
  bytesOf,
  jsonOf,
  MAX_MESSAGE,
  numberAt,
  partsOf,
  prefixed,
  type ReplyToken,
  Said,
  Told,
  textOf
} from './wire.ts'

/** What all answers of a service have in common. */
export interface AnswerOwner {
  readonly link: Link
  readonly control: Control
  readonly logger: Logger
}

/** Bytes left for headers and subjects in a message that is as large as the server allows. */
const PART_MARGIN = 1024
/** Characters of values that leave before the turn is over. */
const BATCH_SIZE = 16 * 1024
const MAX_HELD_SIZE = 128 * 1024 * 1024

/** Answers one request. */
export class OwnAnswer extends OutgoingValues implements Controlled {
  number = 0
  heardAt = 0
  protected readonly maxHeldSize = MAX_HELD_SIZE
  readonly #owner: AnswerOwner
  readonly replyTo: string
  readonly #id: string
  readonly #ended: (hasFailed: boolean) => void
  #message: IncomingMessage | undefined
  #input: InputStream | undefined
  /** Values of the channel granted, and come, since the beginning. */
  #inputGranted = 0
  #inputCount = 0
  #hasFailed = false
  /** When the caller waits no longer; `Infinity` for never, and once a value has been sent. */
  #deadline: ReturnType<typeof setTimeout> | undefined
  /** Messages sent. */
  #sent = 0
  #granted: number
  readonly #window: number
  #unread = 0
  #readBytes = 0
  #batch: string[] = []
  #batchSize = 0

  /** @param id the id of the request, as JSON */
  constructor(
    owner: AnswerOwner,
    replyTo: string,
    id: string,
    { kind, demand, window }: ReplyToken,
    ended: (hasFailed: boolean) => void
  ) {
    super(demand, kind === 'request')
    this.#owner = owner
    this.replyTo = replyTo
    this.#id = id
    this.#granted = demand
    this.#window = window
    this.#ended = ended
    owner.control.add(this)
  }

  get reply(): string {
    return this.#owner.control.subject(this.number, this.#sent)
  }

  /** The message is with its handler. */
  begin(message: IncomingMessage): void {
    this.#message = message
    if (message.timeout === undefined || this.isDone) return
    this.#deadline = setTimeout(() => this.callerGone(), Math.min(message.timeout, LONGEST_TIME))
  }

  /** What the caller sends in a channel. */
  openInput(): InputStream {
    this.#input = new InputStream(
      (n) => this.#grantInput(n),
      () => this.#say(Said.inputStopped)
    )
    return this.#input
  }

  /** The caller may send values. */
  startInput(n: number): void {
    this.#grantInput(n)
  }

  // ── what the caller says ─────────────────────────────────────────────────────────────────────────────

  told(word: string, payload: Uint8Array): void {
    if (word === Told.granted) this.#grant(payload)
    else if (word === Told.canceled) this.callerGone()
    else if (word === Told.input) this.#takeInput(payload)
    else if (word === Told.inputEnded) this.#endInput(payload)
    else if (word === Told.inputFailed) this.#failInput(`The caller's input failed: ${textOf(payload, 1)}`)
  }

  callerGone(): void {
    this.#input?.end()
    this.abort()
  }

  beat(): void {
    if (!this.isDone) this.#say(Said.accepted)
  }

  /** The service stops and does not wait any longer. */
  cut(): void {
    this.abort(() => this.#say(Said.gone))
  }

  #grant(payload: Uint8Array): void {
    const { values, bytes } = readGrant(payload)
    this.#readBytes = Math.max(this.#readBytes, bytes)
    const more = values - this.#granted
    if (more > 0) {
      this.#granted = values
      this.requestN(more)
    } else this.resume()
  }

  #takeInput(payload: Uint8Array): void {
    const text = textOf(payload, 1)
    const blank = text.indexOf(' ')
    if (this.#input === undefined || blank === -1) return
    if (numberAt(text, 0) !== ++this.#inputCount)
      return this.#failInput('A value of the channel was lost on its way')
    try {
      const value: unknown = blank + 1 === text.length ? undefined : jsonOf(text.slice(blank + 1))
      if (!this.#input.push(value)) this.#failInput('The caller has sent far more values than it was granted')
    } catch {
      this.#failInput('A value of the channel is not JSON')
    }
  }

  #endInput(payload: Uint8Array): void {
    if (numberAt(textOf(payload, 1), 0) === this.#inputCount) this.#input?.end()
    else this.#failInput('A value of the channel was lost on its way')
  }

  #failInput(message: string): void {
    this.#input?.end({ error: new ProtocolError(message) })
  }

  #grantInput(n: number): void {
    this.#inputGranted += n
    this.#say(`${Said.inputGranted}${this.#inputGranted}`)
  }

  // ── how values leave ─────────────────────────────────────────────────────────────────────────────────

  protected send(value: unknown, isLast: boolean): void {
    const json = toJson(value)
    if (isLast) this.#publish(lastWords(json))
    else this.#collect(json)
  }

  protected encode(value: unknown): string {
    return toJson(value) ?? ''
  }

  protected sendHeld(bytes: Uint8Array): void {
    this.#collect(bytes.length === 0 ? undefined : textOf(bytes))
  }

  protected sendEnd(): void {
    this.#publish(lastWords(undefined))
  }

  protected sendError(error: unknown): void {
    this.#hasFailed = true
    const { logger } = this.#owner
    if (isRejected(error)) this.#publish(`+${Said.rejected}${errorToText(error, logger, this.#message)}`)
    else this.#publish(failurePacket(error, this.#id, logger, this.#message))
  }

  protected sendUnencodable(error: unknown): void {
    this.sendError(error)
  }

  protected hasRoom(): boolean {
    return this.#unread - this.#readBytes < this.#window && this.#owner.link.hasRoomFor(this)
  }

  teardownFailed(error: unknown): void {
    this.#owner.logger.error('The clean-up of a stream failed', error)
  }

  protected over(isAborted: boolean): void {
    clearTimeout(this.#deadline)
    if (this.#input?.close() === true && !isAborted) this.#say(Said.inputStopped)
    if (isAborted) this.#message?.abort(this.#owner.logger)
    this.#owner.control.remove(this)
    this.#ended(this.#hasFailed)
  }

  /** A value of a stream; `undefined`, for which JSON has no word in a list, goes alone. */
  #collect(json: string | undefined): void {
    this.#stopClock()
    if (json === undefined) return this.#publish(valuePacket(undefined, this.#id))
    if (this.#batch.length === 0) setImmediate(() => this.#flush())
    this.#unread += json.length
    this.#batchSize += json.length
    this.#batch.push(json)
    if (this.#batchSize >= BATCH_SIZE) this.#flush()
  }

  #flush(): void {
    if (this.#batch.length === 0) return
    const batch = this.#batch
    this.#batch = []
    this.#batchSize = 0
    const payload =
      batch.length === 1 ? valuePacket(batch[0] as string, this.#id) : `+${Said.values}[${batch.join(',')}]`
    this.#sendNumbered(payload)
  }

  /** The timeout is for the first answer; a stream may pause between values as long as it likes. */
  #stopClock(): void {
    clearTimeout(this.#deadline)
    this.#deadline = undefined
  }

  #publish(packet: string): void {
    this.#flush()
    this.#sendNumbered(packet)
  }

  #sendNumbered(packet: string): void {
    const { link } = this.#owner
    const room = link.maxPayload - PART_MARGIN
    if (packet.length * 3 <= room) return this.#sendOne(packet)
    const bytes = bytesOf(packet)
    if (bytes.length <= room) return this.#sendOne(packet)
    if (bytes.length > MAX_MESSAGE) return this.#sendTooLarge(bytes.length)
    let left = bytes.length
    for (const part of partsOf(bytes, room)) {
      left -= part.length
      this.#sendOne(prefixed(`+${left === 0 ? Said.lastPart : Said.part}`, part))
    }
  }

  /** An only answer needs no number: if it is lost, nothing has come. */
  #sendOne(payload: string | Uint8Array): void {
    this.#sent++
    const isNumbered = !this.isSingle || payload instanceof Uint8Array
    this.#owner.link.publish(this.replyTo, payload, isNumbered ? this.reply : undefined)
  }

  #sendTooLarge(size: number): void {
    const error = new Error(
      `An answer of ${size} bytes is larger than the ${MAX_MESSAGE} that nats() carries`
    )
    this.#hasFailed = true
    this.#sendOne(failurePacket(error, this.#id, this.#owner.logger, this.#message))
    if (!this.isDone) this.abort()
  }

  #say(words: string): void {
    this.#owner.link.publish(this.replyTo, `+${words}`, this.reply)
  }
}

/** The only or last value of an answer to a caller of ours; `undefined`: the end without one. */
export function lastWords(json: string | undefined): string {
  return json === undefined ? `+${Said.end}` : `+${Said.last}${json}`
}

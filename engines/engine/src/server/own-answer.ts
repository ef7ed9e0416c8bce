/**
 * The answer to one of our callers: sends as many values as the caller has granted, the values of one turn in one
 * message. Each message has a number, so that the caller notices a message that the engine has lost.
 */

import {
  ConnectionError,
  callersTimeOver,
  canceledByCaller,
  cleanUpFailed,
  errorToText,
  type IncomingMessage,
  type InputStream,
  inFront,
  isRejected,
  jsonCodec,
  LONGEST_TIME,
  OutgoingValues,
  serviceStopped
} from '@elysia-microservices/transport/kit'
import { failurePacket, valuePacket } from '@elysia-microservices/transport/nest'
import { MOST_OF_ONE } from '../batches.ts'
import type { Carried } from '../carrier.ts'
import {
  bytesOf,
  MAX_MESSAGE,
  numberIn,
  type ReplyToken,
  readGrant,
  Said,
  Told,
  textOf,
  valueToJson
} from '../words.ts'
import type { Caller } from './callers.ts'
import type { Controlled } from './control.ts'
import type { OpenConnection } from './open-connection.ts'
import { type InputOwner, OwnInput } from './own-input.ts'

/** Number of characters from which the values of a turn are sent before the turn ends. */
const BATCH_SIZE = 16 * 1024
const MAX_HELD_SIZE = 128 * 1024 * 1024

/** Answers one request. */
export class OwnAnswer extends OutgoingValues implements Controlled, InputOwner {
  number = 0
  secret = ''
  heardAt = 0
  protected readonly maxHeldSize = MAX_HELD_SIZE
  readonly #connection: OpenConnection
  readonly replyTo: string
  readonly #id: string
  readonly #ended: (hasFailed: boolean) => void
  #message: IncomingMessage | undefined
  /** The input, if the request is a channel. */
  #input: OwnInput | undefined
  #hasFailed = false
  /** Fires when the caller stops waiting; unset if the caller sets no limit, and once a value was sent. */
  #deadline: ReturnType<typeof setTimeout> | undefined
  /** Fires when the caller takes no more values of a stream; unset if the caller sets no limit. */
  #end: ReturnType<typeof setTimeout> | undefined
  /** Number of messages sent. */
  #sent = 0
  #granted: number
  readonly #window: number
  /** The caller, if the answer is a stream or large. */
  #caller: Caller | undefined
  /** Number of messages that wait for room at the caller. */
  #waiting = 0
  /** The only words of the answer, if they are known already. */
  #only: string | undefined
  /** Headers of the answer, as JSON, that stand in front of its next words. */
  #front: string | undefined
  /** The answer is complete, but some of its words still wait for room. */
  #isLeaving = false
  /** Characters of the stream that were sent, and that the caller has confirmed. */
  #sentSize = 0
  #takenSize = 0
  #batch: string[] = []
  #batchSize = 0

  /** @param id the id of the request, as JSON */
  constructor(
    connection: OpenConnection,
    replyTo: string,
    id: string,
    { kind, demand, window }: ReplyToken,
    ended: (hasFailed: boolean) => void
  ) {
    super(demand, kind === 'request')
    this.#connection = connection
    this.replyTo = replyTo
    this.#id = id
    this.#granted = demand
    this.#window = window
    this.#ended = ended
    if (kind === 'stream') this.#caller = this.#enter()
    connection.control.add(this)
  }

  get reply(): string {
    return this.#connection.control.address(this, this.#sent)
  }

  #enter(): Caller {
    const caller = this.#connection.callers.of(this.replyTo)
    caller.streams++
    return caller
  }

  /** The message is passed to its handler: starts the timers of the caller's limits. */
  begin(message: IncomingMessage): void {
    this.#message = message
    const { timeout, lifetime } = message
    if (this.isDone) return
    this.#deadline = this.#givenUpAfter(timeout)
    this.#end = this.#givenUpAfter(lifetime)
  }

  #givenUpAfter(ms: number | undefined): ReturnType<typeof setTimeout> | undefined {
    if (ms === undefined) return undefined
    return setTimeout(() => this.#giveUp(callersTimeOver(ms)), Math.min(ms, LONGEST_TIME))
  }

  /** Opens the input of a channel: the values that the caller sends. */
  openInput(): InputStream {
    this.#input = new OwnInput(this)
    return this.#input.stream
  }

  /** Grants the caller its first values. */
  startInput(n: number): void {
    this.#input?.grant(n)
  }

  // ── messages of the caller ───────────────────────────────────────────────────────────────────────────

  told(word: string, message: Carried): void {
    const { words, refusal } = message
    if (refusal instanceof ConnectionError) this.#input?.lose()
    else if (refusal !== undefined) this.#input?.fail(refusal.message)
    else if (word === Told.granted) this.#grant(textOf(words))
    else if (word === Told.canceled) this.#giveUp(canceledByCaller())
    else if (word === Told.input) this.#input?.take(textOf(words, 1))
    else if (word === Told.inputEnded) this.#input?.end(numberIn(textOf(words), 1))
    else if (word === Told.inputFailed) this.#input?.fail(`The caller's input failed: ${textOf(words, 1)}`)
  }

  inputLost(): void {
    this.abort(() => this.say(Said.inputLost))
  }

  callerGone(): void {
    this.#giveUp(new ConnectionError('The connection to the caller was lost', true))
  }

  /** Nobody waits for the answer any more: the handler's work ends. */
  #giveUp(reason: Error): void {
    if (this.#waiting > 0) this.#caller?.forget(this)
    this.#waiting = 0
    if (this.#isLeaving) this.#over()
    this.#input?.fail(reason)
    this.abort()
  }

  beat(): void {
    if (!this.isDone || this.#isLeaving) this.say(this.#input?.sign ?? Said.accepted)
  }

  /** Answers with words that already contain the only value. */
  only(words: string): void {
    this.#only = words
    this.value(undefined)
  }

  /** The service stops and waits no longer for the handler. */
  cut(): void {
    if (this.#isLeaving) return
    this.#input?.fail(serviceStopped())
    this.abort(() => this.say(Said.gone))
  }

  #grant(words: string): void {
    const grant = readGrant(words)
    if (grant === undefined) return
    this.#input?.expect(grant.inputs)
    // The number is limited, because a caller may claim more characters than were sent.
    this.#takenSize = Math.min(Math.max(this.#takenSize, grant.size), this.#sentSize)
    const more = grant.values - this.#granted
    if (more > 0) {
      this.#granted = grant.values
      this.requestN(more)
    } else this.resume()
  }

  // ── outgoing values ──────────────────────────────────────────────────────────────────────────────────

  protected send(value: unknown, isLast: boolean): void {
    if (this.#only !== undefined) return this.#publish(this.#only)
    const json = valueToJson(value)
    if (isLast) return this.#publish(lastWords(json))
    this.#takeSet(false)
    this.#collect(json)
  }

  protected encode(value: unknown): string {
    const json = jsonCodec.encode(value)
    this.#takeSet(false)
    return json
  }

  #takeSet(isLast: boolean): void {
    const json = this.#message?.takeSet(isLast)
    if (json !== undefined) this.#front = json
  }

  protected sendHeld(bytes: Uint8Array): void {
    this.#collect(bytes.length === 0 ? undefined : textOf(bytes))
  }

  protected sendEnd(): void {
    this.#publish(this.#only ?? lastWords(undefined))
  }

  protected sendError(error: unknown): void {
    this.#hasFailed = true
    const { logger } = this.#connection
    if (isRejected(error)) this.#publish(`+${Said.rejected}${errorToText(error, logger, this.#message)}`)
    else this.#publish(failurePacket(error, this.#id, logger, this.#message))
  }

  protected sendUnencodable(error: unknown): void {
    this.sendError(error)
  }

  protected override isInWindow(): boolean {
    return this.#sentSize + this.#batchSize - this.#takenSize < this.#window
  }

  protected hasRoom(): boolean {
    if (this.#waiting > 0) return false
    return this.#caller === undefined || this.#caller.hasRoomFor(this)
  }

  teardownFailed(error: unknown): void {
    this.#connection.logger.error(cleanUpFailed(this.#message), error)
  }

  protected over(isAborted: boolean): void {
    clearTimeout(this.#deadline)
    clearTimeout(this.#end)
    if (this.#input?.close() === true && !isAborted) this.say(Said.inputStopped)
    if (isAborted) this.#message?.abort(this.#connection.logger)
    this.#isLeaving = this.#waiting > 0
    if (!this.#isLeaving) this.#over()
  }

  /** All words of the answer were sent. */
  #over(): void {
    this.#isLeaving = false
    if (this.#caller !== undefined) this.#caller.streams--
    this.#connection.control.remove(this)
    this.#ended(this.#hasFailed)
  }

  /** Counts words that have waited and are now sent. Returns their reply address. */
  leaves(words: string): string {
    this.#waiting--
    this.#sent++
    this.#sentSize += words.length
    // The caller publishes the words after this method returns, so the stream is resumed only in a microtask.
    const { reply } = this
    if (this.#waiting === 0 && this.#isLeaving) this.#over()
    else if (this.#waiting === 0) queueMicrotask(() => this.resume())
    return reply
  }

  /**
   * Adds a value of a stream to the message of this turn. `undefined` is sent in a message of its own, because a JSON
   * array cannot contain it.
   */
  #collect(json: string | undefined): void {
    this.#stopClock()
    if (json === undefined) return this.#publish(valuePacket(undefined, this.#id), false)
    if (this.#batch.length === 0) this.#connection.carrier.atTurnEnd(() => this.#flush())
    this.#batchSize += json.length
    this.#batch.push(json)
    if (this.#batchSize >= BATCH_SIZE) this.#flush()
  }

  #flush(): void {
    if (this.#batch.length === 0) return
    const batch = this.#batch
    this.#batch = []
    this.#batchSize = 0
    const words =
      batch.length === 1 ? valuePacket(batch[0] as string, this.#id) : `+${Said.values}[${batch.join(',')}]`
    this.#sendNumbered(words)
  }

  /**
   * Stops the timer, because the timeout limits the wait for the first answer only: behind it, a stream may take its whole
   * lifetime.
   */
  #stopClock(): void {
    if (this.#deadline === undefined) return
    clearTimeout(this.#deadline)
    this.#deadline = undefined
    this.#message?.begins()
  }

  #publish(words: string, isLast = true): void {
    this.#flush()
    if (isLast) this.#takeSet(true)
    this.#sendNumbered(words)
  }

  /**
   * Sends words with a number. An answer of a single message needs no number: if it is lost, the call gets nothing and
   * notices the loss.
   */
  #sendNumbered(given: string): void {
    const words = this.#front === undefined ? given : inFront(this.#front, given)
    this.#front = undefined
    if (words.length * 3 > MAX_MESSAGE && bytesOf(words).length > MAX_MESSAGE)
      return this.#sendTooLarge(words)
    if (this.isSingle && words.length <= MOST_OF_ONE)
      return this.#connection.answers.send(this.replyTo, words)
    const { callers, carrier } = this.#connection
    this.#caller ??= this.#enter()
    if (this.#waiting === 0 && this.#caller.hasRoomFor(this)) {
      this.#sent++
      this.#sentSize += words.length
      this.#caller.room.use(words.length)
      return carrier.publish(this.replyTo, words, this.reply)
    }
    this.#waiting++
    if (callers.sendOf(this.#caller, this, words)) return
    this.#waiting--
    this.#hasFailed = true
    if (!this.isDone) this.callerGone()
  }

  #sendTooLarge({ length }: string): void {
    const { engine, logger } = this.#connection
    const error = new Error(
      `An answer of ${length} characters is larger than the ${MAX_MESSAGE} bytes that ${engine.name}() carries`
    )
    this.#hasFailed = true
    this.#input?.fail(error)
    this.#sendNumbered(failurePacket(error, this.#id, logger, this.#message))
    if (!this.isDone) this.abort()
  }

  say(words: string): void {
    this.#connection.carrier.publish(this.replyTo, `+${words}`, this.reply)
  }
}

/**
 * Makes the words of the only or last value of an answer to one of our callers; for `undefined`, the words of an end
 * without a value.
 */
export function lastWords(json: string | undefined): string {
  return json === undefined ? `+${Said.end}` : `+${Said.last}${json}`
}

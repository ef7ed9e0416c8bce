/**
 * One request on Nest's wire that takes more than the turn it came in. As in Nest, the last value of a turn is held
 * back until the turn is over, so that the end of a stream can travel in the same packet.
 */
import {
  type Answer,
  consume,
  type IncomingMessage,
  type Logger,
  type RejectedError,
  type StreamSink,
  type StreamSource,
  type TableEntry
} from '@elysia-microservices/transport/kit'
import { lastValuePacket, toJson, valuePacket } from './packet.ts'

/** What a reply needs of its connection. */
export interface Replies {
  readonly logger: Logger
  /** Sends one packet. */
  sendPacket(json: string): void
  /** Answers with the error of a handler. */
  fail(idJson: string, error: unknown): void
  /** Calls `turnEnded` of the reply once the current turn is over. */
  atTurnEnd(reply: RunningReply): void
  /** Why the connection may not have one more stream; `undefined` if it may. */
  openStream(): RejectedError | undefined
  /** Whether a stream may send at the moment. If not, its `resume` is called when it may. */
  hasRoomFor(reply: RunningReply): boolean
  /** The reply has ended, or was given up. Called once. */
  ended(reply: RunningReply): void
}

/** Answers one request. */
export class RunningReply implements Answer, StreamSink, TableEntry {
  /** Given by the table of the connection. */
  sequence = 0
  readonly #replies: Replies
  readonly #id: string
  readonly #message: IncomingMessage
  /** The answer is a stream of values, which has begun. */
  isStream = false
  #source: StreamSource | undefined
  #isDone = false
  /** A value waits for the end of the turn; `#held` is its JSON, `undefined` if the value is. */
  #isHolding = false
  #held: string | undefined
  #isTurnEndAsked = false

  constructor(replies: Replies, idJson: string, message: IncomingMessage) {
    this.#replies = replies
    this.#id = idJson
    this.#message = message
  }

  // ── what the handler gives ───────────────────────────────────────────────────────────────────────────

  value(value: unknown): void {
    let json: string | undefined
    try {
      json = toJson(value)
    } catch (error) {
      return this.error(error)
    }
    this.#end(() => this.#replies.sendPacket(lastValuePacket(json, this.#id)))
  }

  stream(stream: object): void {
    if (this.#isDone) return
    const refusal = this.#replies.openStream()
    if (refusal !== undefined) return this.error(refusal)
    this.isStream = true
    const source = consume(stream, this)
    // An Observable may have ended, or have failed to be written, before `consume` returned.
    if (this.#isDone) return source.cancel()
    this.#source = source
    this.resume()
  }

  next(value: unknown): boolean {
    if (this.#isDone) return false
    let json: string | undefined
    try {
      json = toJson(value)
    } catch (error) {
      this.error(error)
      return false
    }
    this.#release()
    this.#held = json
    this.#isHolding = true
    if (!this.#isTurnEndAsked) {
      this.#isTurnEndAsked = true
      this.#replies.atTurnEnd(this)
    }
    return this.#replies.hasRoomFor(this)
  }

  complete(): void {
    this.#end(() => {
      const last = this.#isHolding ? this.#held : undefined
      this.#isHolding = false
      this.#replies.sendPacket(lastValuePacket(last, this.#id))
    })
  }

  error(error: unknown): void {
    this.#end(() => {
      this.#release()
      this.#replies.fail(this.#id, error)
    })
  }

  teardownFailed(error: unknown): void {
    this.#replies.logger.error('The clean-up of a stream failed', error)
  }

  // ── what the connection says ─────────────────────────────────────────────────────────────────────────

  /** The connection takes more again. */
  resume(): void {
    if (!this.#isDone && this.#replies.hasRoomFor(this)) this.#source?.resume()
  }

  /** The turn in which a value came is over. */
  turnEnded(): void {
    this.#isTurnEndAsked = false
    this.#release()
  }

  /** Nobody is there to take the answer. */
  abort(): void {
    this.#isHolding = false
    this.#end(() => this.#message.abort(this.#replies.logger))
  }

  /** Sends the value that was held back, if any. */
  #release(): void {
    if (!this.#isHolding) return
    this.#isHolding = false
    this.#replies.sendPacket(valuePacket(this.#held, this.#id))
  }

  /** The one place where a reply ends: says so, and stops its source. */
  #end(say: () => void): void {
    if (this.#isDone) return
    this.#isDone = true
    const source = this.#source
    this.#source = undefined
    say()
    source?.cancel()
    this.#replies.ended(this)
  }
}

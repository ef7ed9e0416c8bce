/**
 * One request on Nest's wire that takes more than one turn of the event loop. As in Nest, the last value of a turn is
 * held back until the turn ends, so that the end of a stream can be sent in the same packet.
 */

import type { Answer } from '../answer.ts'
import type { TableEntry } from '../calls/stream-table.ts'
import type { RejectedError } from '../errors/index.ts'
import { cleanUpFailed } from '../handler-failed.ts'
import { EMPTY_SIZE } from '../held-values.ts'
import type { Logger } from '../logger.ts'
import type { IncomingMessage } from '../message.ts'
import { streamOverflow } from '../outgoing-values.ts'
import { consume, type StreamSink, type StreamSource } from '../stream.ts'
import { lastValuePacket, toJson, valuePacket } from './packet.ts'

/** The connection, as a reply uses it. */
export interface Replies {
  readonly logger: Logger
  /** Sends one packet. */
  sendPacket(json: string): void
  /** Answers with the error of a handler. */
  fail(idJson: string, error: unknown, message: IncomingMessage): void
  /** Calls `turnEnded` of the reply when the current turn is over. */
  atTurnEnd(reply: RunningReply): void
  /** Counts one more stream. Returns the reason if the stream is refused, else `undefined`. */
  openStream(): RejectedError | undefined
  /** Most characters that an Observable may emit while there is no room. */
  readonly maxAhead: number
  /** Returns whether a stream may send now. If not, `resume` of the reply is called later. */
  hasRoomFor(reply: RunningReply): boolean
  /** The reply has ended or was cancelled. Called once. */
  ended(reply: RunningReply): void
}

/** Answers one request. */
export class RunningReply implements Answer, StreamSink, TableEntry {
  /** The number of the reply, set by the table of the connection. */
  sequence = 0
  readonly #replies: Replies
  readonly #id: string
  readonly #message: IncomingMessage
  /** Whether the answer is a stream. */
  isStream = false
  #source: StreamSource | undefined
  #isDone = false
  /** A value waits for the end of the turn. `#held` is its JSON, or `undefined` if the value is `undefined`. */
  #isHolding = false
  #held: string | undefined
  #isTurnEndAsked = false
  /** Characters that were emitted since there was no room. */
  #ahead = 0

  constructor(replies: Replies, idJson: string, message: IncomingMessage) {
    this.#replies = replies
    this.#id = idJson
    this.#message = message
  }

  // ── called by the handler's result ───────────────────────────────────────────────────────────────────

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
    // An Observable may have ended, or its value may have failed to encode, before `consume` returned.
    if (this.#isDone) return source.cancel()
    this.#source = source
    this.resume()
  }

  next(value: unknown): boolean | undefined {
    if (this.#isDone) return undefined
    let json: string | undefined
    try {
      json = toJson(value)
    } catch (error) {
      this.error(error)
      return undefined
    }
    this.#release()
    this.#held = json
    this.#isHolding = true
    if (!this.#isTurnEndAsked) {
      this.#isTurnEndAsked = true
      this.#replies.atTurnEnd(this)
    }
    // Sending the value before may have ended the connection.
    if (this.#isDone) return undefined
    if (this.#replies.hasRoomFor(this)) {
      this.#ahead = 0
      return true
    }
    this.#ahead += json?.length ?? EMPTY_SIZE
    if (this.#ahead <= this.#replies.maxAhead) return false
    this.error(streamOverflow(this.#ahead, this.#replies.maxAhead))
    return undefined
  }

  /** The stream has no more values. If the last value is still held, the end is sent in the same packet. */
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
      this.#replies.fail(this.#id, error, this.#message)
    })
  }

  teardownFailed(error: unknown): void {
    this.#replies.logger.error(cleanUpFailed(this.#message), error)
  }

  // ── called by the connection ─────────────────────────────────────────────────────────────────────────

  /** The connection takes values again. */
  resume(): void {
    if (!this.#isDone && this.#replies.hasRoomFor(this)) this.#source?.resume()
  }

  /** The turn of the event loop in which a value was emitted has ended. */
  turnEnded(): void {
    this.#isTurnEndAsked = false
    this.#release()
  }

  /** Stops the work, because the connection is lost. */
  abort(): void {
    this.#isHolding = false
    this.#end(() => this.#message.abort(this.#replies.logger))
  }

  /** Sends the value that was held back, if there is one. */
  #release(): void {
    if (!this.#isHolding) return
    this.#isHolding = false
    this.#replies.sendPacket(valuePacket(this.#held, this.#id))
  }

  /** The one place where a reply ends: sends the end, and stops the source. */
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

/**
 * A reply of several packets. As in Nest, the last value of a turn is held back until the turn is over, so
 * that the end of the stream can travel in the same packet.
 */
import type { IncomingMessage } from '../../dispatch.ts'
import type { Cancel, ResultSink } from '../../result.ts'
import { consume } from '../../result.ts'
import { lastValuePacket, toJson, valuePacket } from './packet.ts'

/** What a stream needs of its connection. */
export interface ReplyContext {
  /** Sends one packet. */
  sendPacket(json: string): void
  /** Calls `turnEnded` of the reply once the current turn is over. */
  atTurnEnd(reply: StreamReply): void
  /** Answers with an error and reports it if it is nobody's fault but ours. */
  fail(idJson: string, error: unknown): void
  /** `undefined` while a stream may go on; else a promise for the moment when it may. */
  ready(): Promise<void> | undefined
  /** The stream has ended, or was stopped. Called once. */
  ended(reply: StreamReply): void
}

/** Feeds the values of one handler's stream to one caller. */
export class StreamReply implements ResultSink {
  readonly #context: ReplyContext
  readonly #id: string
  readonly #message: IncomingMessage
  #cancel: Cancel | undefined
  #done = false
  /** A value waits for the end of the turn; `#held` is its JSON, `undefined` if the value is. */
  #holding = false
  #held: string | undefined
  #turnEndAsked = false

  constructor(context: ReplyContext, idJson: string, message: IncomingMessage) {
    this.#context = context
    this.#id = idJson
    this.#message = message
  }

  /** Starts to take values. */
  start(stream: object): void {
    let cancel: Cancel
    try {
      cancel = consume(stream, this)
    } catch (error) {
      return this.error(error)
    }
    // An Observable may have ended, or failed to be written, before `consume` returned.
    if (this.#done) cancel()
    else this.#cancel = cancel
  }

  next(value: unknown): void {
    if (this.#done) return
    let json: string | undefined
    try {
      json = toJson(value)
    } catch (error) {
      return this.#stop(() => this.#context.fail(this.#id, error))
    }
    this.#release()
    this.#held = json
    this.#holding = true
    if (this.#turnEndAsked) return
    this.#turnEndAsked = true
    this.#context.atTurnEnd(this)
  }

  /** The turn in which a value came is over. */
  turnEnded(): void {
    this.#turnEndAsked = false
    this.#release()
  }

  complete(): void {
    this.#end(() => {
      const last = this.#holding ? this.#held : undefined
      this.#holding = false
      this.#context.sendPacket(lastValuePacket(last, this.#id))
    })
  }

  error(error: unknown): void {
    this.#end(() => {
      this.#release()
      this.#context.fail(this.#id, error)
    })
  }

  ready(): Promise<void> | undefined {
    return this.#context.ready()
  }

  /** Sends the value that was held back, if any. */
  #release(): void {
    if (!this.#holding) return
    this.#holding = false
    this.#context.sendPacket(valuePacket(this.#held, this.#id))
  }

  /** Stops the stream because nobody is there to take it. */
  abort(): void {
    this.#holding = false
    this.#stop(() => {})
  }

  #stop(say: () => void): void {
    const cancel = this.#cancel
    this.#end(() => {
      this.#release()
      say()
    })
    cancel?.()
  }

  #end(say: () => void): void {
    if (this.#done) return
    this.#done = true
    this.#cancel = undefined
    say()
    this.#message.end()
    this.#context.ended(this)
  }
}

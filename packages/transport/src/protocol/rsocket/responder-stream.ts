/**
 * One request that is being answered: its state between the request frame and the end. Values go out as the
 * caller grants demand; what an Observable emits without demand waits, within a bound.
 */
import type { Codec } from '../../codec/codec.ts'
import type { IncomingMessage } from '../../dispatch.ts'
import { RejectedError } from '../../errors.ts'
import { type Cancel, consume, type ResultSink } from '../../result.ts'
import { Flag, FrameType, MAX_UINT31 } from './frame-type.ts'
import type { InputStream } from './input-stream.ts'
import type { ResponderContext } from './responder.ts'

/** Values of an Observable that may wait for demand. */
const MAX_WAITING = 65_536

/** Answers one request that took more than the turn it came in. */
export class ResponderStream implements ResultSink {
  readonly #context: ResponderContext
  readonly #streamId: number
  readonly #codec: Codec
  readonly #message: IncomingMessage
  /** Only the first value is wanted: REQUEST_RESPONSE. */
  readonly #single: boolean
  /** Metadata of each answer: its MIME type, if that is not the request's. */
  readonly #metadata: Uint8Array | undefined
  /** What the caller sends in a channel. */
  readonly input: InputStream | undefined
  /** When the caller waits no longer; `Infinity` for never. In the clock of the connection. */
  deadline = Number.POSITIVE_INFINITY
  #demand: number
  #waiting: unknown[] = []
  #completed = false
  #done = false
  /** The answer was an ERROR, which ends both directions. */
  #failed = false
  #cancel: Cancel | undefined
  #resume: (() => void) | undefined

  constructor(
    context: ResponderContext,
    init: {
      readonly streamId: number
      readonly codec: Codec
      readonly message: IncomingMessage
      readonly single: boolean
      readonly demand: number
      readonly metadata: Uint8Array | undefined
      readonly input: InputStream | undefined
    }
  ) {
    this.#context = context
    this.#streamId = init.streamId
    this.#codec = init.codec
    this.#message = init.message
    this.#single = init.single
    this.#demand = init.demand
    this.#metadata = init.metadata
    this.input = init.input
  }

  /** Takes the values of a stream. */
  start(stream: object): void {
    if (this.#done) return
    let cancel: Cancel
    try {
      cancel = consume(stream, this)
    } catch (error) {
      return this.error(error)
    }
    if (this.#done) cancel()
    else this.#cancel = cancel
  }

  /** Answers with the one value there is. */
  value(value: unknown): void {
    if (this.#done) return
    if (this.#demand > 0) return this.#last(value)
    this.#waiting.push(value)
    this.#completed = true
  }

  next(value: unknown): void {
    if (this.#done) return
    if (this.#single) return this.#last(value)
    if (this.#demand > 0 && this.#waiting.length === 0) return this.#send(value)
    if (this.#waiting.length >= MAX_WAITING) {
      const message = `The caller has not asked for ${MAX_WAITING} values of the stream; an Observable cannot be slowed`
      return this.#stop(() => this.#fail(new RejectedError(message)))
    }
    this.#waiting.push(value)
  }

  complete(): void {
    if (this.#done) return
    this.#completed = true
    if (this.#waiting.length === 0) this.#end(() => this.#context.sender.complete(this.#streamId))
  }

  error(error: unknown): void {
    this.#end(() => this.#fail(error))
  }

  ready(): Promise<void> | undefined {
    if (this.#demand === 0 && !this.#single) {
      return new Promise((resolve) => {
        this.#resume = resolve
      })
    }
    return this.#context.ready()
  }

  /** The caller asks for `n` more values. */
  requestN(n: number): void {
    // Credits add up; more than the field can hold is as good as unlimited.
    this.#demand = Math.min(this.#demand + n, MAX_UINT31)
    let sent = 0
    while (!this.#done && this.#demand > 0 && sent < this.#waiting.length) {
      const value = this.#waiting[sent++]
      if (this.#completed && sent === this.#waiting.length) this.#last(value)
      else this.#send(value)
    }
    if (sent > 0) this.#waiting.splice(0, sent)
    this.#wake()
  }

  /** Nobody waits any more: stops the work and says nothing. */
  abort(): void {
    this.#stop(() => {})
    this.#message.abort()
  }

  #send(value: unknown): void {
    if (this.#demand < MAX_UINT31) this.#demand--
    this.#write(value, Flag.NEXT)
  }

  #last(value: unknown): void {
    this.#stop(() => this.#write(value, Flag.NEXT | Flag.COMPLETE))
  }

  #write(value: unknown, flags: number): void {
    const { sender } = this.#context
    try {
      sender.payload(this.#streamId, FrameType.PAYLOAD, flags, -1, this.#metadata, this.#codec, value)
    } catch (error) {
      // The value cannot be encoded. An ERROR ends the stream; with COMPLETE the stream is over already.
      const fail = () => {
        this.#failed = true
        this.#context.failEncoding(this.#streamId, error)
      }
      if (this.#done) fail()
      else this.#stop(fail)
    }
  }

  #fail(error: unknown): void {
    this.#failed = true
    this.#context.fail(this.#streamId, error)
  }

  #wake(): void {
    const resume = this.#resume
    this.#resume = undefined
    resume?.()
  }

  /** Ends the stream and stops its source. */
  #stop(say: () => void): void {
    const cancel = this.#cancel
    this.#end(say)
    cancel?.()
  }

  #end(say: () => void): void {
    if (this.#done) return
    this.#done = true
    this.#cancel = undefined
    this.#waiting = []
    say()
    if (this.input?.close() === true && !this.#failed) this.#context.sender.cancel(this.#streamId)
    this.#message.end()
    this.#context.ended(this.#streamId, this.#single)
    this.#wake()
  }
}

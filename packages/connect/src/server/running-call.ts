/** One call, from its handler's start to its end. */

import type { ProtoMethod } from '@elysia-microservices/protobuf'
import {
  answerHeaders,
  CallFailure,
  type FailedCall,
  failureOf,
  unsendableResult
} from '@elysia-microservices/protobuf/rpc'
import {
  answerWith,
  callersTimeOver,
  canceledByCaller,
  cleanUpFailed,
  type Dispatcher,
  type IncomingMessage,
  LONGEST_TIME,
  OutgoingValues,
  type RunningAnswer,
  type RunningMessages,
  serviceStopped,
  UNLIMITED
} from '@elysia-microservices/transport/kit'
import type { MessagesIn } from './messages-in.ts'
import { encoded } from './messages-out.ts'
import type { Outlet } from './outlet.ts'

/** The parameters of a call. */
export interface RunningCallInit extends FailedCall {
  readonly method: ProtoMethod
  readonly isJson: boolean
  readonly message: IncomingMessage
  readonly dispatcher: Dispatcher
  readonly running: RunningMessages
  readonly outlet: Outlet
  /** The messages of the caller; `undefined` if the handler has got all of them. */
  readonly input: MessagesIn | undefined
  /** Aborts when the client has left. */
  readonly signal: AbortSignal
  readonly sendBuffer: number
}

/** Runs a handler, and sends what it answers. */
export class RunningCall extends OutgoingValues implements RunningAnswer {
  protected readonly maxHeldSize: number
  readonly #init: RunningCallInit
  readonly #left = () => this.cancel()
  #timer: ReturnType<typeof setTimeout> | undefined
  #hasSentMessage = false

  constructor(init: RunningCallInit) {
    super(UNLIMITED, !init.method.serverStreams)
    this.#init = init
    this.maxHeldSize = init.sendBuffer
  }

  /** Calls the handler. */
  start(): void {
    const { message, dispatcher, running, signal, method } = this.#init
    running.begin(this, method.serverStreams)
    if (signal.aborted) return this.cancel()
    signal.addEventListener('abort', this.#left, { once: true })
    this.#startTimer(message.remaining)
    if (this.isDone) return
    let result: unknown
    try {
      result = dispatcher.request(message)
    } catch (error) {
      return this.error(error)
    }
    answerWith(result, this)
  }

  /** The client has left. */
  cancel(): void {
    this.#giveUp(new CallFailure('canceled', 'The call was canceled'), canceledByCaller())
  }

  /** The server stops and waits no longer for the handler. */
  cut(): void {
    const stopped = serviceStopped()
    this.#giveUp(new CallFailure('unavailable', stopped.message), stopped)
  }

  /** The messages of the caller cannot be read. */
  refuse(failure: CallFailure): void {
    this.#giveUp(failure, failure)
  }

  teardownFailed(error: unknown): void {
    this.#init.logger.error(cleanUpFailed(this.#init.message), error)
  }

  protected send(value: unknown, isLast: boolean): void {
    const { isJson, method } = this.#init
    const bytes = encoded(value, method.output, isJson)
    this.#tellSet(isLast)
    this.sendHeld(bytes)
    if (isLast) this.#init.outlet.end()
  }

  protected encode(value: unknown): Uint8Array {
    const { isJson, method } = this.#init
    const bytes = encoded(value, method.output, isJson)
    this.#tellSet(false)
    return bytes
  }

  /** Passes on the headers that the handler has set. @throws {OptionError} one of them cannot be a header of HTTP */
  #tellSet(isLast: boolean): void {
    const json = this.#init.message.takeSet(isLast)
    if (json !== undefined) this.#init.outlet.set(answerHeaders(json))
  }

  protected sendHeld(bytes: Uint8Array): void {
    this.#hasSentMessage = true
    this.#init.outlet.message(bytes)
  }

  protected sendEnd(): void {
    try {
      // A method that answers one message always answers one: the empty one if the handler has no value.
      if (this.isSingle && !this.#hasSentMessage) this.send(undefined, false)
      this.#tellSet(true)
    } catch (error) {
      return this.sendUnencodable(error)
    }
    this.#init.outlet.end()
  }

  protected sendError(error: unknown): void {
    try {
      this.#tellSet(true)
    } catch (misset) {
      this.#init.logger.error(`Headers of the answer to '${this.#init.message.pattern}' are left out`, misset)
    }
    this.#init.outlet.failure(failureOf(error, this.#init))
  }

  protected sendUnencodable(cause: unknown): void {
    this.sendError(unsendableResult(cause))
  }

  protected hasRoom(): boolean {
    return this.#init.outlet.hasRoom
  }

  protected over(isAborted: boolean): void {
    const { message, logger, running, signal, input } = this.#init
    clearTimeout(this.#timer)
    signal.removeEventListener('abort', this.#left)
    input?.end(canceledByCaller())
    if (isAborted) message.abort(logger)
    running.end(this)
  }

  #startTimer(time: number | undefined): void {
    if (time === undefined) return
    if (time === 0) return this.#expire()
    this.#timer = setTimeout(() => this.#expire(), Math.min(Math.ceil(time), LONGEST_TIME))
  }

  #expire(): void {
    const { timeout = 0 } = this.#init.message
    const failure = new CallFailure('deadline_exceeded', `The call has taken longer than its ${timeout} ms`)
    this.#giveUp(failure, callersTimeOver(timeout))
  }

  /** @param reason the error of a handler that waits for messages of the caller */
  #giveUp(failure: CallFailure, reason: Error): void {
    if (this.isDone) return
    this.#init.input?.end(reason)
    this.abort(() => this.#init.outlet.failure(failure))
  }
}

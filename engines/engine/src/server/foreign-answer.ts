/**
 * The answer to a caller that uses neither this library nor Nest, such as `nats request`. The first value is sent as
 * plain JSON. An error is sent in headers, as services of other systems on the engine send errors.
 */
import {
  cleanUpFailed,
  errorToText,
  type IncomingMessage,
  jsonCodec,
  OutgoingValues,
  PayloadTooLargeError,
  readErrorText
} from '@elysia-microservices/transport/kit'
import { MOST_OF_ONE } from '../batches.ts'
import { MARGIN } from '../parts/parts.ts'
import { bytesOf } from '../words.ts'
import { fits } from './nest-answer.ts'
import type { OpenConnection } from './open-connection.ts'

/** Answers one request. */
export class ForeignAnswer extends OutgoingValues {
  protected readonly maxHeldSize = 0
  readonly #connection: OpenConnection
  readonly #replyTo: string
  readonly #message: IncomingMessage
  readonly #ended: (hasFailed: boolean) => void
  #hasFailed = false

  constructor(
    connection: OpenConnection,
    replyTo: string,
    message: IncomingMessage,
    ended: (hasFailed: boolean) => void
  ) {
    super(1, true)
    this.#connection = connection
    this.#replyTo = replyTo
    this.#message = message
    this.#ended = ended
  }

  /** The service stops and waits no longer for the handler. */
  cut(): void {
    this.error(new Error('The service stopped before it had answered'))
  }

  protected send(value: unknown): void {
    const { carrier, callers } = this.#connection
    const json = jsonCodec.encode(value)
    if (!fits(this.#connection, json))
      throw new PayloadTooLargeError(
        'the size of a message',
        carrier.maxPayload - MARGIN,
        bytesOf(json).length,
        'bytes'
      )
    if (json.length > MOST_OF_ONE) callers.sendForeign(this.#replyTo, json)
    else carrier.publish(this.#replyTo, json)
  }

  protected encode(value: unknown): string {
    return jsonCodec.encode(value)
  }

  protected sendHeld(bytes: Uint8Array): void {
    this.#connection.carrier.publish(this.#replyTo, bytes)
  }

  protected sendEnd(): void {
    this.#connection.carrier.publish(this.#replyTo, '')
  }

  protected sendError(error: unknown): void {
    this.#hasFailed = true
    const { carrier, engine, logger } = this.#connection
    const text = errorToText(error, logger, this.#message)
    const { code, message } = readErrorText(text)
    carrier.publish(this.#replyTo, text, undefined, engine.foreignErrorHeaders?.(code, message))
  }

  protected sendUnencodable(error: unknown): void {
    this.sendError(error)
  }

  protected hasRoom(): boolean {
    return true
  }

  teardownFailed(error: unknown): void {
    this.#connection.logger.error(cleanUpFailed(this.#message), error)
  }

  protected over(): void {
    this.#ended(this.#hasFailed)
  }
}

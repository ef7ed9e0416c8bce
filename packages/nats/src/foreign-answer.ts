/**
 * The answer to a caller that is neither ours nor Nest's, such as `nats request`: the first value as JSON and nothing
 * around it, an error as NATS's micro services say it, in headers.
 */
import {
  errorToText,
  type IncomingMessage,
  type Logger,
  OutgoingValues,
  readErrorText,
  toJson
} from '@elysia-microservices/transport/kit'
import { headers } from '@nats-io/transport-node'
import type { Link } from './link.ts'

/** Answers one request. */
export class ForeignAnswer extends OutgoingValues {
  protected readonly maxHeldSize = 0
  readonly #link: Link
  readonly #logger: Logger
  readonly #replyTo: string
  readonly #message: IncomingMessage
  readonly #ended: (hasFailed: boolean) => void
  #hasFailed = false

  constructor(
    link: Link,
    logger: Logger,
    replyTo: string,
    message: IncomingMessage,
    ended: (hasFailed: boolean) => void
  ) {
    super(1, true)
    this.#link = link
    this.#logger = logger
    this.#replyTo = replyTo
    this.#message = message
    this.#ended = ended
  }

  /** The service stops and does not wait any longer. */
  cut(): void {
    this.error(new Error('The service stopped before it had answered'))
  }

  protected send(value: unknown): void {
    this.#link.publish(this.#replyTo, toJson(value) ?? '')
  }

  protected encode(value: unknown): string {
    return toJson(value) ?? ''
  }

  protected sendHeld(bytes: Uint8Array): void {
    this.#link.publish(this.#replyTo, bytes)
  }

  protected sendEnd(): void {
    this.#link.publish(this.#replyTo, '')
  }

  protected sendError(error: unknown): void {
    this.#hasFailed = true
    sendForeignError(this.#link, this.#replyTo, errorToText(error, this.#logger, this.#message))
  }

  protected sendUnencodable(error: unknown): void {
    this.sendError(error)
  }

  protected hasRoom(): boolean {
    return true
  }

  teardownFailed(error: unknown): void {
    this.#logger.error('The clean-up of a stream failed', error)
  }

  protected over(): void {
    this.#ended(this.#hasFailed)
  }
}

/** Statuses as HTTP has them, which is what other micro services answer with. */
const STATUSES: Readonly<Record<string, number>> = {
  VALIDATION: 422,
  BAD_REQUEST: 400,
  UNAUTHENTICATED: 401,
  PATTERN_NOT_FOUND: 404,
  REJECTED: 503
}

/** Tells a foreign caller of an error. @param text what `errorToText` made of it */
export function sendForeignError(link: Link, replyTo: string, text: string): void {
  const { code, message } = readErrorText(text)
  const said = headers()
  said.set('Nats-Service-Error-Code', String(STATUSES[code ?? ''] ?? 500))
  said.set('Nats-Service-Error', message.replace(/\s+/g, ' '))
  link.publish(replyTo, text, undefined, said)
}

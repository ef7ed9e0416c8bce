/**
 * Errors as text, for transports whose wire has no form for errors: a JSON object with code, message and details. Only
 * errors that a handler throws for its caller keep their content; all other errors become `INTERNAL`.
 */
import { ErrorAnswer, readFailure } from './failure.ts'
import { handlerFailed } from './handler-failed.ts'
import type { Logger } from './logger.ts'
import type { IncomingMessage } from './message.ts'

const INTERNAL_MESSAGE = 'Internal server error'

/** The text that a caller gets for an unexpected failure. */
export const INTERNAL_ERROR_TEXT = JSON.stringify({ code: 'INTERNAL', message: INTERNAL_MESSAGE })

/** The content of an error's text. */
export interface ErrorContent {
  readonly code: string | undefined
  readonly message: string
  readonly details: unknown
  /** The text parsed as JSON; if it is not JSON, the text itself. */
  readonly received: unknown
}

/**
 * Makes the text that the other side gets for an error. An unexpected error is logged and becomes `INTERNAL`.
 * @param of the message whose handler failed, or a text for the log that says what has failed; `undefined`: not known
 */
export function errorToText(
  error: unknown,
  logger: Logger,
  of: IncomingMessage | string | undefined
): string {
  const failure = readFailure(error)
  const failed = () => handlerFailed(of)
  if (!('answer' in failure)) {
    if (failure.logged) logger.error(handlerFailed(of, error), error)
    return INTERNAL_ERROR_TEXT
  }
  try {
    const text = JSON.stringify(error instanceof ErrorAnswer ? failure.answer : withoutStatus(failure.answer))
    if (text !== undefined) return text
    logger.error(`${failed()}, and its error has no form in JSON`, error)
  } catch (cause) {
    logger.error(`${failed()}, and its error cannot be written as JSON`, cause)
  }
  return INTERNAL_ERROR_TEXT
}

/**
 * Removes `status: 'error'` from errors of this library and of Nest, because the transport already marks them as
 * errors.
 */
function withoutStatus(answer: unknown): object {
  const { status, ...content } = Object(answer) as Record<string, unknown>
  return status === 'error' ? content : Object(answer)
}

/** Reads the text of an error: JSON from our services, any text from others. Errors of Nest may have no code. */
export function readErrorText(text: string): ErrorContent {
  let received: unknown = text
  try {
    received = JSON.parse(text)
  } catch {}
  const { code, message, details } = fieldsOfError(received)
  const said = [message, received, code, text].find((part) => typeof part === 'string') as string
  const unnamed = said === INTERNAL_MESSAGE ? 'INTERNAL' : undefined
  return { code: code ?? unnamed, message: said, details, received }
}

/**
 * Reads an error that arrived as an object, from our services or from Nest. Other fields, such as `fields` of
 * `new RpcException({ code, fields })`, become its details.
 */
export function fieldsOfError(received: unknown): {
  readonly code: string | undefined
  readonly message: unknown
  readonly details: unknown
} {
  if (typeof received !== 'object' || received === null || Array.isArray(received))
    return { code: undefined, message: undefined, details: undefined }
  const { code, message, details, status: _, statusCode: _status, ...rest } = received as ErrorFields
  return {
    code: typeof code === 'string' ? code : undefined,
    message,
    details: details === undefined && Object.keys(rest).length > 0 ? rest : details
  }
}

interface ErrorFields {
  readonly code?: unknown
  readonly message?: unknown
  readonly details?: unknown
  readonly status?: unknown
  readonly statusCode?: unknown
}

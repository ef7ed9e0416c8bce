/**
 * The error family as text, for transports that have no form of their own for it: a JSON object with code, message
 * and details. Only answers made on purpose become text; everything else is `INTERNAL`.
 */
import { ErrorAnswer, readFailure } from './failure.ts'
import type { Logger } from './logger.ts'

const INTERNAL_MESSAGE = 'Internal server error'

/** What a caller is told of an unexpected failure. */
export const INTERNAL_ERROR_TEXT = JSON.stringify({ code: 'INTERNAL', message: INTERNAL_MESSAGE })

/** What the text of an error says: `code` and `message` where it says them. */
export interface ErrorContent {
  readonly code: string | undefined
  readonly message: string
  readonly details: unknown
  /** The text as JSON, or itself if it is none. */
  readonly received: unknown
}

/**
 * What the other side is told of an error; what it may not be told is logged.
 * @param failed says in the log what has failed
 */
export function errorToText(error: unknown, logger: Logger, failed = 'A message handler failed'): string {
  const failure = readFailure(error)
  if (!('answer' in failure)) {
    if (failure.logged) logger.error(failed, error)
    return INTERNAL_ERROR_TEXT
  }
  try {
    const text = JSON.stringify(error instanceof ErrorAnswer ? failure.answer : withoutStatus(failure.answer))
    if (text !== undefined) return text
    logger.error(`${failed}, and its error has no form in JSON`, error)
  } catch (cause) {
    logger.error(`${failed}, and its error cannot be written as JSON`, cause)
  }
  return INTERNAL_ERROR_TEXT
}

/** Ours and Nest's errors say that they are errors, which the transport says already. */
function withoutStatus(answer: unknown): object {
  const { status, ...content } = Object(answer) as Record<string, unknown>
  return status === 'error' ? content : Object(answer)
}

/** Reads the text of an error: JSON from our side, any text from others. Nest's handlers fail without a code. */
export function readErrorText(text: string): ErrorContent {
  let received: unknown = text
  try {
    received = JSON.parse(text)
  } catch {}
  const { code, message, details } = Object(received) as {
    code?: unknown
    message?: unknown
    details?: unknown
  }
  const said = [message, received, text].find((part) => typeof part === 'string') as string
  const unnamed = said === INTERNAL_MESSAGE ? 'INTERNAL' : undefined
  return { code: typeof code === 'string' ? code : unnamed, message: said, details, received }
}

/** Calls a pattern for the page, and returns the answer. */
import type { Pattern } from '@elysia-microservices/transport/kit'
import { fieldsOf, shortText } from './bounds.ts'
import type { CheckedClient } from './clients.ts'
import type { Trial, TrialError, TrialUpdate } from './protocol.ts'

/** Largest number of characters of a value that are sent to the page. */
const MAX_VALUE = 64 * 1024
/** The call has no timeout, but gives up a service that is not there. */
const UNTIL_STOPPED = { timeout: false, waitForConnection: 5_000 } as const

/**
 * Checks the request of a page.
 * @throws {TypeError} the request is invalid
 */
export function readTrial(given: unknown): Trial {
  const { service, kind, pattern, data, headers = {} } = fieldsOf(given)
  if (typeof service !== 'string' || typeof pattern !== 'string' || pattern === '')
    throw new TypeError('A trial needs the texts service and pattern')
  if (kind !== 'message' && kind !== 'event') throw new TypeError('kind must be message or event')
  if (typeof headers !== 'object' || headers === null || Array.isArray(headers))
    throw new TypeError('headers must be an object of texts')
  if (Object.values(headers).some((header) => typeof header !== 'string'))
    throw new TypeError('headers must be an object of texts')
  return { service, kind, pattern, data, headers: headers as Record<string, string> }
}

/**
 * Sends the message and yields the answer's values, as fast as they are read. There is no timeout, because a stream
 * may be silent for hours: the call runs until it ends or the signal aborts, as it does when the page is closed.
 */
export async function* run(
  client: CheckedClient,
  trial: Trial,
  signal: AbortSignal
): AsyncGenerator<TrialUpdate> {
  const { kind, data, headers } = trial
  try {
    const pattern = patternOf(trial.pattern)
    const options = { headers, signal }
    if (kind === 'event') await client.emit(pattern, data, options)
    else
      for await (const value of client.stream(pattern, data, { ...options, ...UNTIL_STOPPED }))
        yield shown(value)
  } catch (error) {
    yield { error: errorOf(error) }
  }
}

/** The text itself, or the object of a text in braces. */
function patternOf(text: string): Pattern {
  try {
    return text.startsWith('{') ? (JSON.parse(text) as object) : text
  } catch {
    return text
  }
}

function shown(value: unknown): TrialUpdate {
  const text = jsonText(value)
  return { value: text.slice(0, MAX_VALUE), cut: Math.max(0, text.length - MAX_VALUE) }
}

/** A value as JSON text. Values that JSON does not have are described. */
export function jsonText(value: unknown): string {
  try {
    const text = JSON.stringify(
      value,
      (_, each: unknown) => {
        if (typeof each === 'bigint') return `${each}n`
        return each instanceof Uint8Array ? `${each.byteLength} bytes` : each
      },
      2
    )
    return text ?? 'undefined'
  } catch (error) {
    return `cannot be shown: ${shortText(fieldsOf(error)['message'])}`
  }
}

/** An error in the form in which the page shows it. */
export function errorOf(error: unknown): TrialError {
  const { code, message, details } = fieldsOf(error)
  return {
    code: shortText(code, 100) || 'UNKNOWN',
    message: shortText(message) || 'The call failed without a message',
    ...(details !== undefined && { details: shortText(jsonText(details), MAX_VALUE) })
  }
}

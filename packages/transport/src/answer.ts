/**
 * Turns the result of a handler into exactly one answer. The result cannot be trusted: a thenable may settle twice or
 * throw, a getter may throw, a Proxy may be revoked. Such a result fails its own request and nothing else.
 */
import { isStream, isThenable, whenSettled } from './stream.ts'

/** Receives the answer to one request. Exactly one of the methods is called, once. */
export interface Answer {
  /** The handler returned a value. */
  value(value: unknown): void
  /** The handler returned a stream, from which no value has been taken yet. */
  stream(stream: object): void
  /** The handler failed. */
  error(error: unknown): void
}

/**
 * Answers with the result of a handler. Returns false if the result is a promise: then the answer follows in a later
 * turn of the event loop. Throws only what a method of `answer` throws.
 */
export function answerWith(result: unknown, answer: Answer): boolean {
  if (typeof result !== 'object' || result === null) {
    answer.value(result)
    return true
  }
  let kind: 'value' | 'promise' | 'stream'
  try {
    kind = isThenable(result) ? 'promise' : isStream(result) ? 'stream' : 'value'
  } catch (error) {
    answer.error(error)
    return true
  }
  if (kind === 'value') answer.value(result)
  else if (kind === 'stream') answer.stream(result)
  else {
    void whenSettled(
      result as PromiseLike<unknown>,
      (value) => answerWithSettled(value, answer),
      (error) => answer.error(error)
    )
    return false
  }
  return true
}

function answerWithSettled(value: unknown, answer: Answer): void {
  let isMany = false
  try {
    isMany = typeof value === 'object' && value !== null && isStream(value)
  } catch (error) {
    return answer.error(error)
  }
  if (isMany) answer.stream(value as object)
  else answer.value(value)
}

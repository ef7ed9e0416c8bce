/**
 * From what a handler returned to exactly one answer. What users' code returns is not to be trusted: a thenable may
 * settle twice or throw, a getter may throw, a Proxy may be revoked. All of it is one failed request, and no more.
 */
import { isStream, isThenable, whenSettled } from './stream.ts'

/** Where the answer to one request goes. Exactly one of the methods is called, once. */
export interface Answer {
  /** With a value. */
  value(value: unknown): void
  /** With a stream of values, which nobody has begun to take. */
  stream(stream: object): void
  /** With an error. */
  error(error: unknown): void
}

/**
 * Answers with the result of a handler. False: the result is a promise, and the answer comes in a later turn.
 * Never throws, unless `answer` does.
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

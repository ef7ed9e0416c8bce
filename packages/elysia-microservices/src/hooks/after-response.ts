/** Runs the hooks for the end of a message. A handler without such hooks has no extra cost. */
import {
  type IncomingMessage,
  type Logger,
  type ResultEnd,
  readFailure,
  shown,
  tap,
  whenSettled
} from '@elysia-microservices/transport/kit'
import type { MessageContext } from './context.ts'
import type { HookFunction } from './hook.ts'
import { isPromise } from './promise.ts'

/** How a message has ended. */
export interface MessageEnd {
  /** `canceled`: nobody waited any more for the answer, or for the rest of a stream. */
  readonly outcome: 'completed' | 'failed' | 'canceled'
  /**
   * `OK`; or the error code that the caller got, which is `INTERNAL` for an error that nobody threw on purpose; or
   * `CANCELED` or `TIMEOUT`.
   */
  readonly code: string
  /** Milliseconds from the first hook to the last value of the answer. */
  readonly duration: number
  /** How many values the answer had. */
  readonly values: number
  /** The error that was thrown; `undefined` if there was none. */
  readonly error: unknown
}

/**
 * The code of a message's end as its caller sees it: `OK`, the code of the error, or `INTERNAL` for an error that
 * nobody threw on purpose.
 */
export function codeOfEnd(end: ResultEnd, message: IncomingMessage): string {
  if (end.outcome === 'canceled' || message.isAborted) return message.remaining === 0 ? 'TIMEOUT' : 'CANCELED'
  if (end.outcome === 'completed') return 'OK'
  const failure = readFailure(end.error)
  if (!('answer' in failure)) return 'INTERNAL'
  const { code } = Object(failure.answer) as { readonly code?: unknown }
  return typeof code === 'string' && code !== '' ? code : 'UNKNOWN'
}

/**
 * Handles a message, and runs the hooks after its answer has ended. So no answer waits for these hooks, and an
 * error of a hook does not change the answer.
 */
export function watchEnd(
  handle: (context: MessageContext) => unknown,
  context: MessageContext,
  message: IncomingMessage,
  hooks: readonly HookFunction[],
  logger: Logger
): unknown {
  const start = performance.now()
  let isStream = false
  let values = 0
  const ended = (end: ResultEnd) => {
    const own: MessageEnd = {
      outcome: message.isAborted ? 'canceled' : end.outcome,
      code: codeOfEnd(end, message),
      duration: performance.now() - start,
      values,
      error: end.outcome === 'failed' ? end.error : undefined
    }
    queueMicrotask(() => runHooks(hooks, Object.assign(context, { end: own }), logger))
  }
  let result: unknown
  try {
    result = handle(context)
  } catch (error) {
    ended({ outcome: 'failed', error })
    throw error
  }
  return tap(result, {
    isLeft: () => message.isAborted,
    streaming() {
      isStream = true
    },
    value(value) {
      if (isStream || value !== undefined) values++
    },
    ended
  })
}

/** Runs the hooks one after the other, as Elysia does: each waits for the promise of the one before. */
function runHooks(hooks: readonly HookFunction[], context: MessageContext, logger: Logger, from = 0): void {
  const failed = (error: unknown) =>
    logger.error(`A hook after the response to '${shown(context.pattern)}' failed`, error)
  for (let index = from; index < hooks.length; index++) {
    try {
      const result = (hooks[index] as HookFunction)(context)
      if (!isPromise(result)) continue
      const next = () => runHooks(hooks, context, logger, index + 1)
      void whenSettled(result, next, (error) => {
        failed(error)
        next()
      })
      return
    } catch (error) {
      failed(error)
    }
  }
}

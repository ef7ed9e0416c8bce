/** The hooks that run when a message is over. A handler without them is not watched. */
import {
  type IncomingMessage,
  isThenable,
  type Logger,
  type ResultEnd,
  readFailure,
  shown,
  tap,
  whenSettled
} from '@elysia-microservices/transport/kit'
import type { MessageContext } from './context.ts'
import type { HookFunction } from './hook.ts'

/** The end of a message. */
export interface MessageEnd {
  /** `canceled`: nobody waited for the answer any more, or for the rest of a stream. */
  readonly outcome: 'completed' | 'failed' | 'canceled'
  /** `OK`, the code that the caller got, `INTERNAL` for what nobody threw on purpose, or `CANCELED` or `TIMEOUT`. */
  readonly code: string
  /** Milliseconds from the first hook to the last value. */
  readonly duration: number
  /** How many values the answer had. */
  readonly values: number
  /** The error that was thrown; `undefined` if none was. */
  readonly error: unknown
}

/**
 * The code of a message's end for its caller: `OK`, the code of its error, or `INTERNAL` for an error that nobody threw
 * on purpose.
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
 * Handles a message, and runs the hooks when its answer has ended: after what ended it, so that no answer waits for
 * them, and what they throw harms none.
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
    streaming() {
      isStream = true
    },
    value(value) {
      if (isStream || value !== undefined) values++
    },
    ended
  })
}

function runHooks(hooks: readonly HookFunction[], context: MessageContext, logger: Logger): void {
  const failed = (error: unknown) =>
    logger.error(`A hook after the response to '${shown(context.pattern)}' failed`, error)
  for (const hook of hooks) {
    try {
      const result = hook(context)
      if (typeof result === 'object' && result !== null && isThenable(result))
        void whenSettled(result, () => {}, failed)
    } catch (error) {
      failed(error)
    }
  }
}

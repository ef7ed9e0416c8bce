/** Logs one line at `debug` for each message that is handled. */
import {
  type Logger,
  type Middleware,
  type ReceivedMessage,
  type ResultEnd,
  shown,
  tap
} from '@elysia-microservices/transport/kit'
import { codeOfEnd } from '../hooks/after-response.ts'

/**
 * Returns the middleware that writes the lines; `undefined` if the logger has no method `debug`, so that messages then
 * cost nothing. The middleware belongs next to the handlers, inside of a tracing span, so that a logger can add the
 * span's ids.
 */
export function messageLines({ debug }: Logger): Middleware<ReceivedMessage> | undefined {
  if (debug === undefined) return undefined
  return (next) => (message) => {
    const start = performance.now()
    const ended = (end: ResultEnd) => {
      const ms = (performance.now() - start).toFixed(2)
      debug(`${shown(message.pattern)}: ${shown(codeOfEnd(end, message))}, ${ms} ms, ${message.transport}`)
    }
    let result: unknown
    try {
      result = next(message)
    } catch (error) {
      ended({ outcome: 'failed', error })
      throw error
    }
    return tap(result, { isLeft: () => message.isAborted, ended })
  }
}

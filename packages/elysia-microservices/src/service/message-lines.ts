/** One line at `debug` for each message that is handled. */
import {
  type Around,
  type Logger,
  type ReceivedMessage,
  type ResultEnd,
  shown,
  tap
} from '@elysia-microservices/transport/kit'
import { codeOfEnd } from '../hooks/after-response.ts'

/**
 * An around that writes them; `undefined` if the logger takes none, so that a message costs nothing then. It belongs
 * next to the handlers: inside of a span, whose ids a logger may add.
 */
export function messageLines({ debug }: Logger): Around<ReceivedMessage> | undefined {
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
    return tap(result, { ended })
  }
}

/** One line at `debug` for each message that is handled. */
import {
  type Around,
  type Logger,
  type ReceivedMessage,
  type ResultEnd,
  readFailure,
  shown,
  tap
} from '@elysia-microservices/transport/kit'

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
      debug(`${shown(message.pattern)}: ${codeOf(end, message)}, ${ms} ms, ${message.transport}`)
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

/** How it ended, for its caller: `OK`, the code of its error, or `INTERNAL` for what nobody threw on purpose. */
function codeOf(end: ResultEnd, message: ReceivedMessage): string {
  if (end.outcome === 'canceled' || message.isAborted) return message.remaining === 0 ? 'TIMEOUT' : 'CANCELED'
  if (end.outcome === 'completed') return 'OK'
  const failure = readFailure(end.error)
  if (!('answer' in failure)) return 'INTERNAL'
  const { code } = Object(failure.answer) as { readonly code?: unknown }
  return typeof code === 'string' && code !== '' ? shown(code) : 'UNKNOWN'
}

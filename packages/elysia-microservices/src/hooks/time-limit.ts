/**
 * The option `timeout` of a handler. When its time is over, the message's signal aborts and its caller gets an answer,
 * as if the caller itself had waited no longer. A handler without the option is called as before.
 */
import {
  consume,
  FEED,
  type Feed,
  type IncomingMessage,
  isStream,
  isStreamOfValues,
  isThenable,
  type Logger,
  noteOverrun,
  RpcError,
  type StreamSource,
  whenSettled
} from '@elysia-microservices/transport/kit'
import type { CompiledHandler } from './pipeline.ts'

/** The time of one run of a handler. */
interface Run {
  /** Milliseconds that the option allows. */
  readonly timeout: number
  /** The message as the handler has it. */
  readonly message: IncomingMessage
  /** The message as the transport has it. */
  readonly given: IncomingMessage
  readonly logger: Logger
}

/**
 * Limits the time of a handler.
 * @param isAlone whether no other handler gets the same message
 * @param logger gets errors that listeners of the signal throw
 */
export function limited(
  handler: CompiledHandler,
  timeout: number | undefined,
  isAlone: boolean,
  logger: Logger
): CompiledHandler {
  if (timeout === undefined) return handler
  return (given, params) => {
    const message = isAlone ? given : given.copy()
    const isCallersFirst =
      message.kind === 'request' && (message.remaining ?? Number.POSITIVE_INFINITY) <= timeout
    message.limit(timeout)
    const result = handler(message, params)
    // If the caller's time ends first, the transport ends the call.
    if (isCallersFirst || typeof result !== 'object' || result === null) return result
    const run = { timeout, message, given, logger }
    if (isThenable(result)) return inTime(result, run)
    return isStream(result) ? beginningInTime(result, run) : result
  }
}

/** The time is over. Returns the error for the caller. */
function expired({ timeout, message, logger }: Run): RpcError {
  message.limit(0)
  message.abort(logger)
  return new RpcError({
    code: 'TIMEOUT',
    message: `The handler of '${message.pattern}' has taken longer than its timeout of ${timeout} ms`
  })
}

function inTime(work: PromiseLike<unknown>, run: Run): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      noteOverrun(run.given, work)
      reject(expired(run))
    }, run.timeout)
    void whenSettled(
      work,
      (value) => {
        clearTimeout(timer)
        resolve(isStreamOfValues(value) ? beginningInTime(value, run) : value)
      },
      (error) => {
        clearTimeout(timer)
        reject(error)
      }
    )
  })
}

/** A stream whose first value must come in time: behind it, a stream may pause as long as it likes. */
function beginningInTime(stream: object, run: Run): Feed {
  return {
    [FEED](sink) {
      let isOver = false
      let source: StreamSource | undefined
      const timer = setTimeout(() => {
        isOver = true
        const error = expired(run)
        source?.cancel()
        sink.error(error)
      }, run.message.remaining)
      const end = (say: () => void) => {
        if (isOver) return
        isOver = true
        clearTimeout(timer)
        say()
      }
      source = consume(stream, {
        next(value, size) {
          if (isOver) return undefined
          clearTimeout(timer)
          run.message.begins()
          return sink.next(value, size)
        },
        complete: () => end(() => sink.complete()),
        error: (error) => end(() => sink.error(error)),
        teardownFailed: (error) => sink.teardownFailed(error)
      })
      return {
        resume: () => source?.resume(),
        request: (n) => source?.request?.(n),
        cancel() {
          end(() => {})
          source?.cancel()
        }
      }
    }
  }
}

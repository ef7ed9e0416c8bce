/** Calls Nest's handlers and gives what the transport takes, inside the processing hooks where there are any. */
import {
  EventHandlersError,
  exhaust,
  isStreamOfValues,
  isThenable,
  shown,
  whenSettled
} from '@elysia-microservices/transport/kit'
import { Logger } from '@nestjs/common'
import type { MessageHandler } from '@nestjs/microservices'
import { isObservable } from 'rxjs'
import { answerOfUnfiltered, HandlerStream } from './handler-stream.ts'
import type { MicroserviceContext } from './microservice-context.ts'

const logger = new Logger('MicroserviceServer')

/** Runs work between Nest's processing hooks; `end` runs the end hook, once. */
export type InHooks = (work: (end: () => void) => Promise<void>) => unknown

/** The answer to a request. It throws, or rejects with, only an `ErrorAnswer`. */
export function answerTo(call: () => unknown): unknown {
  let result: unknown
  try {
    result = call()
  } catch (error) {
    throw answerOfUnfiltered(error)
  }
  if (typeof result !== 'object' || result === null || !isThenable(result)) return streamOrValue(result)
  return whenSettled(result, streamOrValue, (error) => {
    throw answerOfUnfiltered(error)
  })
}

/** The same between hooks. */
export function answerInHooks(
  inHooks: InHooks,
  context: MicroserviceContext,
  call: () => unknown
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const started = inHooks(async (end) => {
      // A caller that leaves before its stream is begun ends the work too.
      context.signal.addEventListener('abort', end, { once: true })
      try {
        const result = await call()
        if (isStreamOfValues(result)) resolve(new HandlerStream(result, answerOfUnfiltered, end))
        else {
          end()
          resolve(result)
        }
      } catch (error) {
        end()
        reject(answerOfUnfiltered(error))
      }
    })
    // A start hook may be an async function, and fail.
    Promise.resolve(started).catch(reject)
  })
}

/**
 * Hands an event to its handlers; a handler that fails does not stop the others. Settles with the outcome when all
 * have ended.
 */
export async function runEventHandlers(
  handlers: readonly MessageHandler[],
  data: unknown,
  context: MicroserviceContext
): Promise<void> {
  const running = handlers.map((handler) => runEventHandler(handler, data, context))
  const failures = (await Promise.allSettled(running)).flatMap((end) =>
    end.status === 'rejected' ? [end.reason as unknown] : []
  )
  if (failures.length === 1) throw failures[0]
  if (failures.length > 1) throw new EventHandlersError(failures)
}

/** The same between hooks. */
export function runEventInHooks(inHooks: InHooks, run: () => Promise<void>): Promise<void> {
  return new Promise<void>((resolve, reject) => {
    const started = inHooks(async (end) => {
      await run().then(resolve, reject)
      end()
    })
    Promise.resolve(started).catch(reject)
  })
}

/** The result of a handler, as the transport takes it. */
export function streamOrValue(result: unknown): unknown {
  if (typeof result !== 'object' || result === null || result instanceof HandlerStream) return result
  if (isThenable(result)) return whenSettled(result, streamOrValue)
  return isStreamOfValues(result) ? new HandlerStream(result, answerOfUnfiltered) : result
}

/**
 * Runs one handler. Nest's filters have reported the errors they let through, so such an error becomes an
 * `ErrorAnswer`.
 */
async function runEventHandler(
  handler: MessageHandler,
  data: unknown,
  context: MicroserviceContext
): Promise<void> {
  const result: unknown = await handler(data, context)
  if (!isStreamOfValues(result)) return
  const last = await exhaust(new HandlerStream(result, (error) => error))
  const { delivery, pattern } = context.message
  if (last !== undefined || delivery === undefined || !isObservable(result)) return
  logger.warn(
    `A handler of the durable event '${shown(pattern)}' gave an empty Observable, which counts as handled: it is acknowledged, and not delivered again. If an exception filter gave EMPTY for a failure, let it give throwError(…)`
  )
}

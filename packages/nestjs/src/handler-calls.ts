/**
 * Calls Nest's handlers and returns their results in the form that the transport needs. If processing hooks are set,
 * the handlers run between them.
 */
import {
  EventHandlersError,
  endSettled,
  exhaust,
  type IncomingMessage,
  isStreamOfValues,
  isThenable,
  shown,
  type Logger as TransportLogger,
  whenSettled
} from '@elysia-microservices/transport/kit'
import { Logger } from '@nestjs/common'
import type { MessageHandler } from '@nestjs/microservices'
import { isObservable } from 'rxjs'
import type { DirectCall } from './direct-handlers.ts'
import { answerOfUnfiltered, HandlerStream } from './handler-stream.ts'
import type { MicroserviceContext } from './microservice-context.ts'

const logger = new Logger('MicroserviceServer')

/** Runs work between Nest's processing hooks; `end` runs the end hook once. */
export type InHooks = (work: (end: () => void) => Promise<void>) => unknown

/** Calls the handler of a request and returns the answer. It throws or rejects only with an `ErrorAnswer`. */
export function answerBy(handler: MessageHandler, data: unknown, context: MicroserviceContext): unknown {
  try {
    return answerOf(handler(data, context))
  } catch (error) {
    return throwUnfiltered(error)
  }
}

/** Returns the answer to a request like `answerBy`, from a handler without a pipeline. */
export function answerDirect(call: DirectCall, message: IncomingMessage, logger: TransportLogger): unknown {
  try {
    return answerOf(call(message, logger))
  } catch (error) {
    return throwUnfiltered(error)
  }
}

/** Returns the result of a handler of requests in the form that the transport needs. */
export function answerOf(result: unknown): unknown {
  if (typeof result !== 'object' || result === null || !isThenable(result)) return streamOrValue(result)
  return whenSettled(result, streamOrValue, throwUnfiltered)
}

/** Throws the answer for an error that no filter has seen. */
export function throwUnfiltered(error: unknown): never {
  throw answerOfUnfiltered(error)
}

/** Returns the answer to a request like `answerTo`, and runs the handler between Nest's processing hooks. */
export function answerInHooks(
  inHooks: InHooks,
  context: MicroserviceContext,
  call: () => unknown
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const started = inHooks(async (end) => {
      // A caller that cancels before its stream has begun also ends the work.
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
    // A start hook may be an async function, and its promise may reject.
    Promise.resolve(started).catch(reject)
  })
}

/**
 * Passes an event to its handlers; a handler that fails does not stop the others. Settles with the outcome when all
 * handlers have ended.
 */
export function runEventHandlers(
  handlers: readonly MessageHandler[],
  data: unknown,
  context: MicroserviceContext
): Promise<void> {
  const [first] = handlers
  return handlers.length === 1 && first !== undefined
    ? runEventHandler(first, data, context)
    : runAll(handlers, data, context)
}

async function runAll(
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

/** Runs the handlers of an event between Nest's processing hooks. */
export function runEventInHooks(inHooks: InHooks, run: () => Promise<void>): Promise<void> {
  return new Promise<void>((resolve, reject) => {
    const started = inHooks(async (end) => {
      await run().then(resolve, reject)
      end()
    })
    Promise.resolve(started).catch(reject)
  })
}

/** Returns the result of a handler in the form that the transport needs. */
export function streamOrValue(result: unknown): unknown {
  if (typeof result !== 'object' || result === null || result instanceof HandlerStream) return result
  if (isThenable(result)) return whenSettled(result, streamOrValue)
  return isStreamOfValues(result) ? new HandlerStream(result, answerOfUnfiltered) : result
}

/**
 * Runs one handler. Nest's filters have already logged the errors that they do not handle, so such an error becomes an
 * `ErrorAnswer`, which is not logged again.
 */
async function runEventHandler(
  handler: MessageHandler,
  data: unknown,
  context: MicroserviceContext
): Promise<void> {
  try {
    await runToEnd(handler, data, context)
  } catch (error) {
    return endSettled(context.message, [error])
  }
  endSettled(context.message)
}

async function runToEnd(handler: MessageHandler, data: unknown, context: MicroserviceContext): Promise<void> {
  const result: unknown = await handler(data, context)
  if (!isStreamOfValues(result)) return
  const last = await exhaust(new HandlerStream(result, (error) => error))
  const { delivery, pattern } = context.message
  if (last !== undefined || delivery === undefined || !isObservable(result)) return
  logger.warn(
    `A handler of the durable event '${shown(pattern)}' returned an empty Observable, which counts as success: the event is acknowledged and not delivered again. If an exception filter returned EMPTY for a failure, let it return throwError(…)`
  )
}

/** Calls Nest's handlers and gives what the transport takes, inside the processing hooks where there are any. */
import { ErrorAnswer, isThenable } from '@elysia-microservices/transport'
import type { LoggerService } from '@nestjs/common'
import type { MessageHandler } from '@nestjs/microservices'
import { answerOfUnfiltered, HandlerStream, isStreamOfValues } from './handler-stream.ts'
import type { MicroserviceContext } from './microservice-context.ts'

/** Runs work between Nest's processing hooks; `end` runs the end hook, once. */
export type InHooks = (work: (end: () => void) => Promise<void>) => unknown

/** The answer to a request. What it throws or rejects with is an `ErrorAnswer`. */
export function answerTo(call: () => unknown): unknown {
  let result: unknown
  try {
    result = call()
  } catch (error) {
    throw answerOfUnfiltered(error)
  }
  if (typeof result !== 'object' || result === null || !isThenable(result)) return streamOrValue(result)
  return result.then(streamOrValue, (error: unknown) => {
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

/** Hands an event to its handlers. Settles when the work of all has ended; never rejects. */
export async function runEventHandlers(
  handlers: readonly MessageHandler[],
  data: unknown,
  context: MicroserviceContext,
  logger: LoggerService
): Promise<void> {
  await Promise.all(handlers.map((handler) => runEventHandler(handler, data, context, logger)))
}

/** The same between hooks. */
export function runEventInHooks(
  inHooks: InHooks,
  run: () => Promise<void>,
  logger: LoggerService
): Promise<void> {
  return new Promise<void>((resolve, reject) => {
    const started = inHooks(async (end) => {
      await run()
      end()
      resolve()
    })
    Promise.resolve(started).catch(reject)
  }).catch((error: unknown) => logger.error(error))
}

function streamOrValue(result: unknown): unknown {
  return isStreamOfValues(result) ? new HandlerStream(result, answerOfUnfiltered) : result
}

async function runEventHandler(
  handler: MessageHandler,
  data: unknown,
  context: MicroserviceContext,
  logger: LoggerService
): Promise<void> {
  const report = (error: unknown) => {
    logger.error(error)
    return new ErrorAnswer(undefined)
  }
  try {
    const result: unknown = await handler(data, context)
    if (!isStreamOfValues(result)) return
    await new Promise<void>((resolve) => {
      // An error that comes here was reported by a filter of Nest, or by `report`.
      new HandlerStream(result, report).subscribe({ next() {}, complete: resolve, error: () => resolve() })
    })
  } catch (error) {
    report(error)
  }
}

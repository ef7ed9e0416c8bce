/** Calls Nest's handlers of gRPC, which get data, metadata and call. */
import { EventEmitter } from 'node:events'
import { Duplex } from 'node:stream'
import { type IncomingMessage, PatternNotFoundError } from '@elysia-microservices/transport/kit'
import type { GrpcForm } from '@elysia-microservices/transport/nest'
import type { MessageHandler } from '@nestjs/microservices'
import { Observable } from 'rxjs'
import { directGrpcCallOf } from './direct-handlers.ts'
import { answerInHooks, answerOf, type InHooks, throwUnfiltered } from './handler-calls.ts'
import type { MicroserviceContext } from './microservice-context.ts'

const CLASSES = { Observable, EventEmitter, Duplex }

/** Nest's processing hooks around one call. */
export interface GrpcHooks {
  readonly context: MicroserviceContext
  readonly inHooks: InHooks
}

/** Calls the handler of a request and returns the answer. It throws or rejects only with an `ErrorAnswer`. */
export function answerGrpc(
  form: GrpcForm,
  handler: MessageHandler,
  message: IncomingMessage,
  hooks: GrpcHooks | undefined
): unknown {
  // Transports without methods have no calls that such a handler could get.
  if (message.invokeGrpc === undefined) throw PatternNotFoundError.of(message.pattern)
  const { args, answer } = message.invokeGrpc(CLASSES, form, message)
  // Nest's type has two arguments.
  const call = handler as (...args: readonly unknown[]) => unknown
  if (hooks !== undefined) return answer(answerInHooks(hooks.inHooks, hooks.context, () => call(...args)))
  const direct = directGrpcCallOf(handler)
  try {
    return answer(answerOf(direct === undefined ? call(...args) : direct(args)))
  } catch (error) {
    return throwUnfiltered(error)
  }
}

/**
 * A service and its client over `memory()`, each with the middleware that a test gives. Not part of the package's
 * interface.
 */
import {
  type Caller,
  type IncomingMessage,
  type Middleware,
  memory,
  PatternNotFoundError,
  type ReceivedMessage,
  type SentMessage,
  wrapCaller,
  wrapDispatcher
} from '@elysia-microservices/transport/kit'
import { telemetry } from '../telemetry.ts'

const silent = { error() {}, warn() {} }

/** Handlers by their patterns. */
export type Handlers = Readonly<Record<string, (message: IncomingMessage) => unknown>>

/** The middleware of the service and of the client. Default: `telemetry()` for both. */
export interface WithMiddleware {
  readonly service?: readonly Middleware<ReceivedMessage>[]
  readonly client?: readonly Middleware<SentMessage>[]
}

/** Starts the service and the client. `close` stops both when all messages have been handled. */
export async function newEnds(handlers: Handlers, middleware: WithMiddleware = {}) {
  const { service = [telemetry()], client = [telemetry()] } = middleware
  const handle = (message: IncomingMessage) => {
    const handler = handlers[message.route ?? '']
    if (handler === undefined) throw PatternNotFoundError.of(message.pattern)
    return handler(message)
  }
  const transport = memory()
  const server = transport.server({ name: undefined, version: undefined, logger: silent })
  const dispatcher = {
    // The handlers get all messages, including those with unknown patterns.
    routes: () => [
      { kind: 'message' as const, route: '>' },
      { kind: 'event' as const, route: '>' }
    ],
    request: handle,
    event: async (message: IncomingMessage) => void (await handle(message))
  }
  await server.start(wrapDispatcher(dispatcher, service))
  const context = { logger: silent, timeout: 30_000, dispatcher: undefined }
  const caller = transport.client(context)
  return {
    client: wrapCaller(caller, client, 'memory'),
    async close() {
      await caller.close()
      await server.stop()
    }
  }
}

/** Reads values of a stream until it ends, or until `wanted` values have been read; then the stream is canceled. */
export function take(client: Caller, pattern: string, wanted: number, options = {}): Promise<unknown[]> {
  return new Promise((resolve, reject) => {
    const values: unknown[] = []
    const call = client.stream(
      pattern,
      undefined,
      {
        next(value) {
          values.push(value)
          if (values.length < wanted) return true
          queueMicrotask(() => {
            call.cancel()
            resolve(values)
          })
          return false
        },
        complete: () => resolve(values),
        error: reject
      },
      options
    )
  })
}

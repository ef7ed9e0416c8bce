/** Answers the requests that the page sends over its WebSocket. */
import {
  type Dispatcher,
  type IncomingMessage,
  PatternNotFoundError,
  RpcError
} from '@elysia-microservices/transport/kit'
import { fieldsOf } from './bounds.ts'
import type { CheckedClient } from './clients.ts'
import type { Source } from './sources/source.ts'
import { errorOf, readTrial, run } from './trial.ts'
import type { Watch } from './watch.ts'

/** The parts that the handlers use. */
export interface PageServiceParts {
  readonly watch: Watch
  readonly sources: readonly Source[]
  readonly clients: () => ReadonlyMap<string, CheckedClient>
  readonly canTry: boolean
}

type Handler = (message: IncomingMessage) => unknown

/** The handlers of `ConsoleService`. */
export function pageService({ watch, sources, clients, canTry }: PageServiceParts): Dispatcher {
  const handlers = new Map<string, Handler>([
    ['updates', ({ data, signal }) => iterable(watch.open(signal, lookOf(data)))],
    [
      'try',
      ({ data, signal }) => {
        if (!canTry)
          throw new TypeError(
            'The console is read-only: the option try of consolePage() allows calls and changes'
          )
        const trial = readTrial(data)
        const client = clients().get(trial.service)
        if (client === undefined) throw new TypeError('There is no such service')
        return run(client, trial, signal)
      }
    ],
    ...sources.map((source): [string, Handler] => [
      `ask.${source.topic}`,
      async ({ data, signal }) => (await source.ask?.(data, signal)) ?? null
    ])
  ])
  return {
    routes: () => [...handlers.keys()].map((route) => ({ kind: 'message', route })),
    async request(message) {
      const handler = handlers.get(message.route ?? '')
      if (handler === undefined) throw PatternNotFoundError.of(message.pattern)
      try {
        return await handler(message)
      } catch (error) {
        throw toldOf(error)
      }
    },
    event({ pattern }) {
      throw PatternNotFoundError.of(pattern)
    }
  }
}

/** The id of the service that a page shows. */
function lookOf(question: unknown): string | undefined {
  const { service } = fieldsOf(question)
  return typeof service === 'string' ? service : undefined
}

/** The error that is sent to the page, where its text is shown. Users of the page may know the reason. */
function toldOf(error: unknown): RpcError {
  if (error instanceof TypeError) return new RpcError({ code: 'BAD_QUESTION', message: error.message })
  const { code, message } = errorOf(error)
  return new RpcError({ code, message })
}

function iterable<Value>(iterator: AsyncIterator<Value>): AsyncIterable<Value> {
  return { [Symbol.asyncIterator]: () => iterator }
}

/** The end at which a client answers calls: the services are elsewhere, and the app is their gateway. */
import type { ProtoMethod } from '@elysia-microservices/protobuf'
import {
  consoleLogger,
  type Dispatcher,
  type IncomingMessage,
  LocalError,
  type Logger,
  RpcError,
  RunningMessages
} from '@elysia-microservices/transport/kit'
import type { UntypedClient } from 'elysia-microservices/client'
import type { CallableMethod } from './methods.ts'

/** Answers by calls of a client. */
export class ClientEnd {
  readonly running = new RunningMessages()
  readonly logger: Logger = consoleLogger
  readonly #client: UntypedClient
  #isStopping = false

  constructor(client: UntypedClient) {
    this.#client = client
  }

  /** Whether calls are answered. */
  get isOpen(): boolean {
    return !this.#isStopping
  }

  /** The app listens. */
  start(): void {
    this.#isStopping = false
  }

  /** The app stops: calls in flight get time to end, and are then cut. */
  async stop(): Promise<void> {
    this.#isStopping = true
    await this.running.drained(undefined)
  }

  /** The dispatcher of one method. */
  dispatcherOf({ method, candidates: [{ given }] }: CallableMethod): Dispatcher {
    const request = (message: IncomingMessage) => this.#call(method, given, message)
    return { routes: () => [], request, event: request as Dispatcher['event'] }
  }

  /** The time and the signal of the message become those of the call. */
  #call({ kind, serverStreams, idempotent }: ProtoMethod, pattern: never, message: IncomingMessage): unknown {
    const { data, headers } = message
    const options = { within: message, headers }
    if (kind === 'event') return passing(this.#client.emit(pattern, data, options))
    if (serverStreams) return passingStream(this.#client.stream(pattern, data, { ...options, idempotent }))
    return passing(this.#client.request(pattern, data, { ...options, idempotent }))
  }
}

/** The answer of a call, whose error is passed on. */
async function passing(answer: PromiseLike<unknown>): Promise<unknown> {
  try {
    return await answer
  } catch (error) {
    throw passable(error)
  }
}

async function* passingStream(values: AsyncIterable<unknown>): AsyncGenerator<unknown, void, undefined> {
  try {
    yield* values
  } catch (error) {
    throw passable(error)
  }
}

/** The error of a call as an answer to the caller of this app. */
function passable(error: unknown): unknown {
  const { pass } = error as { pass?: unknown }
  const isOurs = error instanceof RpcError || error instanceof LocalError
  return isOurs && typeof pass === 'function' ? pass.call(error) : error
}

/** A service and its clients over a hub, for tests. */
import {
  type ClientContext,
  type Dispatcher,
  type IncomingMessage,
  PatternNotFoundError,
  type Route
} from '@elysia-microservices/transport/kit'
import { DialogueClient } from '../client/dialogue-client.ts'
import { DialogueServer } from '../server/dialogue-server.ts'
import { Hub, type HubOptions, type TestCarrier, TestEngine } from './hub.ts'

/** Handlers by their patterns. */
export type Handlers = Readonly<Record<string, (message: IncomingMessage) => unknown>>

/** A service and its clients over one hub. */
export class Ends {
  readonly hub: Hub
  readonly engine: TestEngine
  /** How soon answers seem to come to clients, in milliseconds: each look at their clock moves it by this much. */
  answersTake = 0
  /** The lines that services and clients have logged. */
  readonly log: string[] = []
  readonly #clients: DialogueClient<TestCarrier>[] = []
  readonly #servers: DialogueServer<TestCarrier>[] = []

  constructor(options: HubOptions = {}) {
    this.hub = new Hub(options)
    this.engine = new TestEngine(this.hub)
  }

  get logger() {
    const write = (text: string) => void this.log.push(text)
    return { error: write, warn: write }
  }

  /**
   * Starts a service.
   * @param handlers handlers of requests; a handler whose name begins with `on ` is one of events
   */
  async serve(handlers: Handlers, name = 'service'): Promise<DialogueServer<TestCarrier>> {
    const server = new DialogueServer({
      engine: this.engine,
      context: { name, version: undefined, logger: this.logger },
      queues: { message: name, event: name }
    })
    await server.start(dispatcherOf(handlers))
    this.#servers.push(server)
    return server
  }

  /** Makes a client. Whether it sends requests together does not depend on how busy the machine is. */
  client(context: Partial<ClientContext> = {}): DialogueClient<TestCarrier> {
    let now = 0
    const client = new DialogueClient({
      engine: this.engine,
      now: () => (now += this.answersTake),
      context: { logger: this.logger, timeout: 5_000, dispatcher: undefined, ...context }
    })
    this.#clients.push(client)
    return client
  }

  /** The connection that was opened last. */
  get lastCarrier(): TestCarrier {
    return [...this.hub.carriers].at(-1) as TestCarrier
  }

  async close(): Promise<void> {
    this.hub.faults = {}
    this.hub.resume()
    for (const client of this.#clients) await client.close()
    for (const server of this.#servers) await server.stop({ drain: 0 })
  }
}

function dispatcherOf(handlers: Handlers): Dispatcher {
  const routes = Object.keys(handlers).map((name): Route => {
    const isEvent = name.startsWith('on ')
    return { kind: isEvent ? 'event' : 'message', route: isEvent ? name.slice(3) : name }
  })
  return {
    routes: () => routes,
    request(message) {
      const handler = handlers[message.route ?? '']
      if (handler === undefined) throw PatternNotFoundError.of(message.pattern)
      return handler(message)
    },
    event(message) {
      handlers[`on ${message.route}`]?.(message)
    }
  }
}

/** Collects all values of a stream; rejects with the error of the stream. */
export function valuesOf(
  client: DialogueClient<TestCarrier>,
  pattern: string,
  data?: unknown,
  timeout?: number
): { readonly values: unknown[]; readonly ended: Promise<void> } {
  const values: unknown[] = []
  const ended = new Promise<void>((resolve, reject) => {
    const receiver = { next: (value: unknown) => void values.push(value), complete: resolve, error: reject }
    client.stream(pattern, data, receiver, timeout === undefined ? undefined : { timeout })
  })
  return { values, ended }
}

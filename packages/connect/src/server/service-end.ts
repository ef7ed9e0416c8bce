/** The end at which one service of an app answers calls. */
import {
  type Dispatcher,
  type Logger,
  RunningMessages,
  routeMatches,
  type ServerContext,
  type ServerTransport,
  type StopOptions,
  type TransportStats
} from '@elysia-microservices/transport/kit'
import type { CallableMethod, Candidate } from './methods.ts'

/** The name of the transport, as messages have it. */
export const CONNECT = 'connect'

/** The door, as its ends use it. */
export interface EndOwner {
  readonly maxInFlight: number
  opened(end: ServiceEnd): void
  closed(end: ServiceEnd): void
}

/** Answers for one service. */
export class ServiceEnd implements ServerTransport {
  readonly name = CONNECT
  readonly logger: Logger
  readonly running = new RunningMessages()
  readonly #owner: EndOwner
  #dispatcher: Dispatcher | undefined

  constructor(owner: EndOwner, { logger }: ServerContext) {
    this.#owner = owner
    this.logger = logger
  }

  get dispatcher(): Dispatcher {
    return this.#dispatcher as Dispatcher
  }

  async start(dispatcher: Dispatcher): Promise<void> {
    this.#dispatcher = dispatcher
    this.#owner.opened(this)
  }

  async stop({ drain }: StopOptions = {}): Promise<void> {
    this.#owner.closed(this)
    await this.running.drained(drain)
  }

  stats(): TransportStats {
    return {
      transport: CONNECT,
      address: undefined,
      inFlight: { current: this.running.inFlight, limit: this.#owner.maxInFlight },
      streams: this.running.streams
    }
  }

  /** The pattern of a method that has a handler of its own here; `undefined` if there is none. */
  exactly({ method: { kind }, candidates }: CallableMethod): Candidate | undefined {
    const routes = new Set(this.dispatcher.routes().map(({ kind, route }) => `${kind} ${route}`))
    return candidates.find(({ route }) => routes.has(`${kind} ${route}`))
  }

  /** The pattern of a method that a handler with wildcards or a RegExp takes; `undefined` if there is none. */
  nearly({ method: { kind }, candidates }: CallableMethod): Candidate | undefined {
    const routes = this.dispatcher.routes().filter((one) => one.kind === kind)
    return candidates.find(({ route: wanted }) =>
      routes.some(({ route, regexp }) =>
        route === undefined ? regexp?.test(wanted) : routeMatches(route, wanted)
      )
    )
  }
}

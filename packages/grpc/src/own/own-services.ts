/** The services of gRPC itself, which a server answers without handlers of its user: health and reflection. */
import {
  type Dispatcher,
  type IncomingMessage,
  PatternNotFoundError
} from '@elysia-microservices/transport/kit'
import type { GrpcMethod } from '../methods.ts'

/** A service that the server answers itself. */
export interface OwnService {
  /** The full name, such as `grpc.health.v1.Health`. */
  readonly name: string
  /** The methods, whose patterns are their paths. */
  readonly methods: readonly GrpcMethod[]
  /** Answers a call, as a handler does. */
  answer(message: IncomingMessage): unknown
}

/** The services of one server that it answers itself. */
export class OwnServices {
  /** Answers calls of the methods. */
  readonly dispatcher: Dispatcher
  /** The names of the services. */
  readonly names: readonly string[]
  readonly #methods = new Map<string, { readonly method: GrpcMethod; readonly service: OwnService }>()

  constructor(services: readonly OwnService[]) {
    this.names = services.map(({ name }) => name)
    for (const service of services)
      for (const method of service.methods) this.#methods.set(method.path, { method, service })
    const answer = (message: IncomingMessage) => {
      const found = this.#methods.get(message.pattern)
      if (found === undefined) throw PatternNotFoundError.of(message.pattern)
      return found.service.answer(message)
    }
    this.dispatcher = { routes: () => [], request: answer, event: async () => {} }
  }

  /** The method at a path without a slash in front; `undefined` if there is none. */
  method(path: string): GrpcMethod | undefined {
    return this.#methods.get(path)?.method
  }
}

/** The full name of the service of a path: `shop.v1.Orders` of `shop.v1.Orders/GetTotal`. */
export function serviceOf(path: string): string {
  return path.slice(0, path.indexOf('/'))
}

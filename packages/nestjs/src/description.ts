/**
 * The description of a server for the page of `elysia-microservices dev`: its patterns. Nest knows no schemas of them.
 */
import { randomUUID } from 'node:crypto'
import {
  DESCRIBE_ROUTE,
  describeRoute,
  type Route,
  type ServerTransport
} from '@elysia-microservices/transport/kit'

/** Answers what the page asks. */
export class Description {
  readonly #name: string | undefined
  readonly #instance = randomUUID()
  /** The routes that it answers. */
  readonly routes: readonly Route[]

  constructor(name: string | undefined) {
    this.#name = name
    const named = name === undefined ? [] : [describeRoute(name), describeRoute(name, this.#instance)]
    this.routes = [DESCRIBE_ROUTE, ...named].map((route) => ({ kind: 'message', route }))
  }

  /** Whether a message asks for it. */
  isAsked(route: string | undefined): boolean {
    return route !== undefined && this.routes.some((own) => own.route === route)
  }

  /** As a service of `microservice()` describes itself, without schemas. */
  answer(isListening: boolean, servers: readonly ServerTransport[], routes: readonly Route[]): object {
    const description = {
      name: this.#name,
      instance: this.#instance,
      status: isListening ? 'listening' : 'draining',
      transports: servers.map((server) => server.stats()),
      handlers: routes.map(({ kind, route, durable }) => ({
        kind,
        patterns: [{ kind: 'exact', pattern: route }],
        durable,
        hooks: []
      }))
    }
    // Undefined fields would be refused by no codec, but are not what JSON carries.
    return JSON.parse(JSON.stringify(description)) as object
  }
}

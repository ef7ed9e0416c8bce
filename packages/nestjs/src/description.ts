/**
 * The description of a server for the page of `elysia-microservices dev`: its patterns. It has no schemas, because Nest
 * does not know the schemas of patterns.
 */
import { randomUUID } from 'node:crypto'
import {
  DESCRIBE_ROUTE,
  describeRoute,
  processNames,
  type Route,
  type ServerTransport,
  statsOf
} from '@elysia-microservices/transport/kit'

/** Answers requests of the page for the description of this server. */
export class Description {
  readonly #name: string | undefined
  readonly #instance = randomUUID()
  /** The routes by which the page asks for the description. */
  readonly routes: readonly Route[]

  constructor(name: string | undefined) {
    this.#name = name
    const named = name === undefined ? [] : [describeRoute(name), describeRoute(name, this.#instance)]
    this.routes = [DESCRIBE_ROUTE, ...named].map((route) => ({ kind: 'message', route }))
  }

  /** Whether a message asks for the description. */
  isAsked(route: string | undefined): boolean {
    return route !== undefined && this.routes.some((own) => own.route === route)
  }

  /** Makes the description in the form of a service of `microservice()`, without schemas. */
  answer(isListening: boolean, servers: readonly ServerTransport[], routes: readonly Route[]): object {
    const description = {
      name: this.#name,
      instance: this.#instance,
      status: isListening ? 'listening' : 'draining',
      process: processNames(),
      transports: servers.flatMap(statsOf),
      handlers: routes.map(({ kind, route, durable }) => ({
        kind,
        patterns: [{ kind: 'exact', pattern: route }],
        durable,
        hooks: []
      }))
    }
    // The description is converted to JSON and back, because a codec other than JSON would send fields that are
    // `undefined`.
    return JSON.parse(JSON.stringify(description)) as object
  }
}

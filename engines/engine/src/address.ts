/** The address on an engine at which the messages of a pattern are published. */
import { OptionError, SEGMENTS } from '@elysia-microservices/transport/kit'
import type { Engine } from './carrier.ts'

/** The fields of an engine that decide about addresses. */
export type Addressing = Pick<Engine, 'title' | 'whyNot' | 'wildcards'>

/** Most characters of a pattern that an error shows. */
const SHOWN = 300

/**
 * Returns the address to which the handler of a pattern subscribes, wildcards included.
 * @throws {OptionError} the engine has no address for the pattern
 */
export function addressOfHandler(engine: Addressing, route: string | undefined): string {
  if (route === undefined) {
    const { instead } = engine.wildcards ?? SEGMENTS
    throw new OptionError('pattern', `${engine.title} cannot carry a RegExp as a pattern; ${instead}`)
  }
  const why = engine.whyNot(route)
  if (why !== undefined) throw refused(engine, route, why)
  return route
}

/**
 * Returns the address to which calls and events of a route are published, and at which services answer requests.
 * @throws {OptionError} the engine has no address for the route
 */
export function addressOfCall(engine: Addressing, route: string): string {
  const address = addressOfHandler(engine, route)
  const wildcards = engine.wildcards ?? SEGMENTS
  if (wildcards.has(address)) throw refused(engine, route, wildcards.inCalls)
  return address
}

function refused({ title }: Addressing, route: string, why: string): OptionError {
  return new OptionError('pattern', `${title} cannot carry the pattern '${route.slice(0, SHOWN)}': ${why}`)
}

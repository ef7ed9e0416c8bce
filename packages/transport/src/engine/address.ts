/** Where an engine has the messages of a pattern. */
import { OptionError } from '../errors/index.ts'
import { SEGMENTS } from '../wildcards.ts'
import type { Engine } from './carrier.ts'

/** An engine, as far as addresses are concerned. */
type Addressing = Pick<Engine, 'title' | 'whyNot' | 'wildcards'>

/** Characters of a pattern that an error shows. */
const SHOWN = 300

/**
 * The address that a handler's pattern is subscribed by, wildcards included.
 * @throws {OptionError} the engine has none
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
 * The address that calls and events go to for a route; services answer requests there.
 * @throws {OptionError} the engine has none
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

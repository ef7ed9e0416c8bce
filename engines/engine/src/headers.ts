/** Checks and merges the headers of messages to be sent. */
import { type MessageHeaders, OptionError, refuseReserved } from '@elysia-microservices/transport/kit'
import type { CarriedHeaders, Engine } from './carrier.ts'

/** Most characters of a name that an error shows. */
const SHOWN = 300

/** @throws {OptionError} the engine cannot carry a header; the error has the reason */
export function checkHeaders(engine: Pick<Engine, 'title' | 'whyNoHeader'>, headers: CarriedHeaders): void {
  for (const name in headers) {
    const why = engine.whyNoHeader?.(name, headers[name] as string | readonly string[])
    if (why === undefined) continue
    const path = pathOf(name)
    throw new OptionError(path, `${path} cannot be a header of ${engine.title}: it ${why}`)
  }
}

/**
 * Checks the headers of a record of Nest. Those of a call were checked with its options, and the library adds its own.
 * @throws {OptionError} the name of a header belongs to this library
 */
export function checkRecord(headers: CarriedHeaders): void {
  for (const name in headers) refuseReserved(name, pathOf(name))
}

function pathOf(name: string): string {
  return `options.headers[${JSON.stringify(name.slice(0, SHOWN))}]`
}

/** Makes one value for each name: several values are joined with commas. */
export function joinedHeaders(headers: CarriedHeaders): MessageHeaders {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value].flat().join(', ')]))
}

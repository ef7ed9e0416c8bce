/** Checks and merges the headers of messages to be sent. */
import {
  type MessageHeaders,
  OptionError,
  RESERVED_PREFIX,
  refuseReserved
} from '@elysia-microservices/transport/kit'
import type { CarriedHeaders, Engine } from './carrier.ts'

/** Most characters of a name that an error shows. */
const SHOWN = 300

/** @throws {OptionError} the engine cannot carry a header, or its name belongs to this library; the error has the reason */
export function checkHeaders(engine: Pick<Engine, 'title' | 'whyNoHeader'>, headers: CarriedHeaders): void {
  for (const name in headers) {
    const why = engine.whyNoHeader?.(name, headers[name] as string | readonly string[])
    if (why === undefined && !name.startsWith(RESERVED_PREFIX)) continue
    const path = `options.headers[${JSON.stringify(name.slice(0, SHOWN))}]`
    refuseReserved(name, path)
    throw new OptionError(path, `${path} cannot be a header of ${engine.title}: it ${why}`)
  }
}

/** Makes one value for each name: several values are joined with commas. */
export function joinedHeaders(headers: CarriedHeaders): MessageHeaders {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value].flat().join(', ')]))
}

/** Headers on their way out. */
import { OptionError } from '../errors/index.ts'
import type { Headers } from '../headers.ts'
import type { CarriedHeaders, Engine } from './carrier.ts'

/** Characters of a name that an error shows. */
const SHOWN = 300

/** @throws {OptionError} the engine cannot carry one of them, with the reason that it gives */
export function checkHeaders(engine: Pick<Engine, 'title' | 'whyNoHeader'>, headers: CarriedHeaders): void {
  for (const name in headers) {
    const why = engine.whyNoHeader?.(name, headers[name] as string | readonly string[])
    if (why === undefined) continue
    const path = `options.headers[${JSON.stringify(name.slice(0, SHOWN))}]`
    throw new OptionError(path, `${path} cannot be a header of ${engine.title}: it ${why}`)
  }
}

/** One value for each name: of several, all with commas between. */
export function joinedHeaders(headers: CarriedHeaders): Headers {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value].flat().join(', ')]))
}

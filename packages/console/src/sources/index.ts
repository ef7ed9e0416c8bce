/** The sources of all screens. A new one is a file beside this one, a line in `Topics`, and one line here. */
import type { Source, SourceContext } from './source.ts'
import { Traces } from './traces.ts'

/** Makes those of one console. */
export function makeSources(_context: SourceContext): {
  readonly sources: readonly Source[]
  readonly traces: Traces
} {
  const traces = new Traces()
  return { sources: [traces], traces }
}

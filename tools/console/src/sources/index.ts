/** The sources of all screens. A new source needs a file in this folder, a line in `Topics`, and a line here. */
import { Alerts } from './alerts.ts'
import { Events } from './events.ts'
import { History } from './history.ts'
import { ProgramsOfPage } from './programs.ts'
import type { Source, SourceContext } from './source.ts'
import { Traces } from './traces.ts'

/** Makes the sources of one console. */
export function makeSources(context: SourceContext): {
  readonly sources: readonly Source[]
  readonly traces: Traces
} {
  const { programs } = context
  const traces = new Traces(programs)
  const events = new Events(context)
  const all = [traces, events, new History(context), new Alerts(() => events.latest())]
  return { sources: programs === undefined ? all : [...all, new ProgramsOfPage(programs, context)], traces }
}

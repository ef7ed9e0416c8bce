/** The sources of all screens. A new one is a file beside this one, a line in `Topics`, and one line here. */
import { Alerts } from './alerts.ts'
import { Events } from './events.ts'
import { History } from './history.ts'
import type { Source, SourceContext } from './source.ts'
import { Traces } from './traces.ts'

/** Makes those of one console. */
export function makeSources(context: SourceContext): readonly Source[] {
  const events = new Events(context)
  return [new Traces(), events, new History(), new Alerts(() => events.latest())]
}

/** The view of one page: all of the service that it looks at, and all others in brief, however many there are. */
import type { Overview, Sample, ServiceSample, ServiceView } from './protocol.ts'

/** An overview in which only what the page looks at has its patterns. @param look the id of a view */
export function overviewFor(overview: Overview, look: string | undefined): Overview {
  const shown = (view: ServiceView) => (view.id === look ? view : briefView(view))
  return { ...overview, services: overview.services.map(shown) }
}

/** A sample in which only what the page looks at has figures of patterns and transports. @param look the id of a view */
export function sampleFor({ at, services }: Sample, look: string | undefined): Sample {
  const shown = ([id, sample]: [string, ServiceSample]) => [id, id === look ? sample : briefSample(sample)]
  return { at, services: Object.fromEntries(Object.entries(services).map(shown)) }
}

function briefView({ described, ...view }: ServiceView): ServiceView {
  if (described === undefined) return view
  const { patterns: _, ...brief } = described
  return { ...view, described: brief }
}

function briefSample({ transports, ...sample }: ServiceSample): ServiceSample {
  return {
    ...sample,
    isBrief: true,
    transports: transports.map(({ name }) => ({ name, gauges: [], durable: [] })),
    outboxes: [],
    rows: []
  }
}

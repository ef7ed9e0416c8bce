/**
 * Limits what is sent to one page: all data of the service that the page shows, and only summaries of other
 * services, however many there are.
 */
import type { Overview, Sample, ServiceSample, ServiceView } from './protocol.ts'

/**
 * An overview in which only the service that the page shows has its patterns. @param look the id of that service's
 * view
 */
export function overviewFor(overview: Overview, look: string | undefined): Overview {
  const shown = (view: ServiceView) => (view.id === look ? view : briefView(view))
  return { ...overview, services: overview.services.map(shown) }
}

/**
 * A sample in which only the service that the page shows has figures of patterns and transports. @param look the id
 * of that service's view
 */
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

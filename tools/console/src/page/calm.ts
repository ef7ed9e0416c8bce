/** The sentence of a page without alerts. It also names the services that nobody watches: silence about them would look like health. */
import { listed, plural } from '../plural.ts'
import type { Overview, ServiceView } from '../protocol.ts'

/** The line that stands there while there is no alert. */
export interface Calm {
  readonly text: string
  /** Everything is watched, and nothing is wrong. */
  readonly isGood: boolean
  /** The services whose errors nobody counts, and what they need; empty: there are none. */
  readonly unwatched: string
}

/** @param overview `undefined`: the server has told nothing yet */
export function calmOf(overview: Overview | undefined): Calm | undefined {
  if (overview === undefined) return undefined
  const { services } = overview
  if (!services.some(({ described }) => described !== undefined))
    return { text: 'Nothing is known: no service has described itself yet', isGood: false, unwatched: '' }
  const silent = namesOf(services.filter(({ described }) => described === undefined))
  const uncounted = namesOf(services.filter(({ described }) => described?.isCounted === false))
  const count = silent.length + uncounted.length
  if (count === 0) return { text: 'Nothing is wrong', isGood: true, unwatched: '' }
  const of = [
    ...(uncounted.length === 0 ? [] : [`Errors are not counted without telemetry(): ${listed(uncounted)}.`]),
    ...(silent.length === 0 ? [] : [`Nothing is known of what does not describe itself: ${listed(silent)}.`])
  ]
  return {
    text: `Nothing is known to be wrong · ${plural(count, 'service')} not watched`,
    isGood: false,
    unwatched: of.join(' ')
  }
}

function namesOf(views: readonly ServiceView[]): string[] {
  return [...new Set(views.map(({ service }) => service))]
}

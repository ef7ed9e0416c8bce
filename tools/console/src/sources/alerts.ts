/** The alerts, which need no configuration by the user. */
import { alertsOf, NO_ALERTS, nextBoard } from '../alerts/board.ts'
import { dead, engines, refused, silent, type Watched } from '../alerts/conditions.ts'
import { failing, lagging, NO_TRENDS, nextTrends, stuck } from '../alerts/trends.ts'
import { LastSamples } from '../groups.ts'
import type { AlertsView, EventsView, Overview, Sample } from '../protocol.ts'
import type { Source } from './source.ts'

export class Alerts implements Source<'alerts'> {
  readonly topic = 'alerts'
  readonly #eventsNow: () => EventsView | undefined
  readonly #samples = new LastSamples()
  #trends = NO_TRENDS
  #board = NO_ALERTS
  #latest: AlertsView = { alerts: [], past: [] }
  /** The JSON text of the last update that was sent to pages. */
  #told = ''
  #tell = () => {}

  /** @param events returns the current state of durable events */
  constructor(events: () => EventsView | undefined) {
    this.#eventsNow = events
  }

  latest(): AlertsView {
    return this.#latest
  }

  begin(tell: () => void): void {
    this.#tell = tell
  }

  rest(): void {
    // It is unknown from now on whether the problems last, so they are moved out of the current list.
    this.#board = { ...NO_ALERTS, past: this.#board.past }
    this.#trends = NO_TRENDS
    this.#latest = { alerts: [], past: this.#board.past }
  }

  sampled(sample: Sample, { services }: Overview): void {
    const { at } = sample
    const { groups, outboxes } = this.#eventsNow() ?? { groups: [], outboxes: [] }
    const watched: Watched = { at, services, told: this.#samples.take(sample, services), groups, outboxes }
    this.#trends = nextTrends(this.#trends, watched)
    const conditions = [
      ...engines(watched),
      ...silent(watched),
      ...failing(this.#trends),
      ...dead(watched),
      ...lagging(this.#trends, watched),
      ...refused(watched),
      ...stuck(watched)
    ]
    this.#board = nextBoard(this.#board, conditions, at)
    this.#latest = { alerts: alertsOf(this.#board), past: this.#board.past }
    const text = JSON.stringify(this.#latest)
    if (text === this.#told) return
    this.#told = text
    this.#tell()
  }
}

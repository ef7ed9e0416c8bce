/** Current problems with advice, and past problems. */
import type { AlertsView, AlertView } from '../../protocol.ts'
import { calmOf } from '../calm.ts'
import { clock, duration } from '../format.ts'
import { hrefOf } from '../route.ts'
import type { Screen, ScreenProps } from './screen.ts'

export const alerts: Screen = {
  id: 'alerts',
  title: 'Alerts',
  View: Alerts,
  count: ({ topics }) => topics.alerts?.alerts.length ?? 0
}

const NONE: AlertsView = { alerts: [], past: [] }

function Alerts({ shown: { topics }, overview }: ScreenProps) {
  const { alerts, past } = topics.alerts ?? NONE
  const calm = calmOf(overview)
  return (
    <main>
      <div class="title">
        <h2>Alerts</h2>
      </div>
      {alerts.length === 0 ? (
        <p class={calm?.isGood ? 'calm' : 'hint'} role="status">
          {calm?.text}
        </p>
      ) : (
        <ul class="list">
          {alerts.map((alert) => (
            <Alert key={alert.key} alert={alert} />
          ))}
        </ul>
      )}
      {calm?.unwatched !== '' && <p class="hint">{calm?.unwatched}</p>}
      {past.length > 0 && (
        <section aria-labelledby="past">
          <h3 id="past">Resolved</h3>
          <ul class="past">
            {past.map(({ key, title, since, until }) => (
              <li key={`${key} ${since}`}>
                <time dateTime={new Date(since).toISOString()}>{clock(since)}</time> <bdi>{title}</bdi>{' '}
                <span class="hint">· lasted {duration(Math.max(1_000, until - since))}</span>
              </li>
            ))}
          </ul>
        </section>
      )}
    </main>
  )
}

function Alert({ alert: { title, detail, advice, since, place } }: { readonly alert: AlertView }) {
  const [screen = 'services', ...path] = place
  return (
    <li class="alert">
      <h3>
        <a href={hrefOf(screen, ...path)}>
          <bdi>{title}</bdi>
        </a>
      </h3>
      <p class="hint">for {duration(Math.max(1_000, Date.now() - since))}</p>
      <p>
        <bdi>{detail}</bdi>
      </p>
      <p class="advice">{advice}</p>
    </li>
  )
}

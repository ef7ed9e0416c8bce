/** All services: one of them at a time, and a list to choose from. */
import type { ServiceView } from '../../protocol.ts'
import { count } from '../format.ts'
import { type History, NOTHING } from '../history.ts'
import { hrefOf } from '../route.ts'
import type { Screen, ScreenProps } from './screen.ts'
import { Service } from './service.tsx'

export const services: Screen = { id: 'services', title: 'Services', View: Services }

function Services({ shown: { history }, overview, path: [chosen], base }: ScreenProps) {
  const { services, canTry } = overview
  const service = services.find(({ id }) => id === chosen) ?? services[0]
  return (
    <div class="columns">
      <nav aria-label="Services">
        <ul>
          {services.map((each) => (
            <li key={each.id}>
              <a href={hrefOf('services', each.id)} aria-current={each === service ? 'page' : undefined}>
                <span class={`dot ${stateOf(each)}`} aria-hidden="true" />
                <span class="name">{each.id}</span>
                <span class="note">{noteOf(each, history.get(each.id))}</span>
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <main>
        {service === undefined ? (
          <p>No service listens yet</p>
        ) : (
          <Service
            key={service.id}
            service={service}
            history={history.get(service.id) ?? NOTHING}
            trying={canTry ? { url: `${base}/try`, service: service.service } : undefined}
          />
        )}
      </main>
    </div>
  )
}

function stateOf({ problem, described }: ServiceView): 'good' | 'odd' | 'bad' {
  if (problem !== undefined) return 'bad'
  return described?.status === 'listening' ? 'good' : 'odd'
}

function noteOf({ problem, described }: ServiceView, { moments }: History = NOTHING): string {
  if (problem !== undefined) return described === undefined ? 'nothing known' : 'not reached'
  const rate = moments.at(-1)?.sample.total?.rate
  return rate === undefined ? (described?.status ?? '') : `${count(rate)} req/s`
}

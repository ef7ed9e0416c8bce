/** The page. */
import { render } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { ServiceView } from '../protocol.ts'
import { count } from './format.ts'
import { type History, NOTHING } from './history.ts'
import { Service } from './service.tsx'
import { follow, type Shown } from './updates.ts'

const root = document.getElementById('page') as HTMLElement
const base = root.dataset['base'] ?? '.'

const CONNECTION = {
  connecting: 'Connecting…',
  live: 'Live',
  lost: 'Connection lost, trying again…'
} as const

function App() {
  const [shown, setShown] = useState<Shown>({
    connection: 'connecting',
    overview: undefined,
    history: new Map()
  })
  const [chosen, choose] = useState<string | undefined>()
  useEffect(() => {
    let latest: Shown | undefined
    // Nobody sees a hidden page; what came meanwhile is there when it is seen again.
    const draw = () => {
      if (!document.hidden && latest !== undefined) setShown(latest)
    }
    document.addEventListener('visibilitychange', draw)
    follow(`${base}/updates`, (next) => {
      latest = next
      draw()
    })
  }, [])
  const { connection, overview, history } = shown
  const services = overview?.services ?? []
  const service = services.find(({ id }) => id === chosen) ?? services[0]
  return (
    <>
      <header>
        <h1>Console</h1>
        <p class={`connection ${connection}`} role="status">
          {CONNECTION[connection]}
        </p>
      </header>
      <div class="columns">
        <nav aria-label="Services">
          <ul>
            {services.map((each) => (
              <li key={each.id}>
                <button
                  type="button"
                  aria-current={each === service ? 'page' : undefined}
                  onClick={() => choose(each.id)}
                >
                  <span class={`dot ${stateOf(each)}`} aria-hidden="true" />
                  <span class="name">{each.id}</span>
                  <span class="note">{noteOf(each, history.get(each.id))}</span>
                </button>
              </li>
            ))}
          </ul>
        </nav>
        <main>
          {overview !== undefined && service === undefined && <p>No service listens yet</p>}
          {service !== undefined && overview !== undefined && (
            <Service
              key={service.id}
              service={service}
              history={history.get(service.id) ?? NOTHING}
              trying={overview.canTry ? { url: `${base}/try`, service: service.service } : undefined}
            />
          )}
        </main>
      </div>
    </>
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

render(<App />, root)

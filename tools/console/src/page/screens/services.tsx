/** All services: a list, and the chosen service. */
import { useEffect, useState } from 'preact/hooks'
import { plural } from '../../plural.ts'
import type { ProgramView, ServiceView } from '../../protocol.ts'
import { count, ms, whole } from '../format.ts'
import { type History, NOTHING } from '../history.ts'
import { shortInstance } from '../instance.ts'
import { hrefOf } from '../route.ts'
import { Search } from '../search.tsx'
import { lookAt } from '../updates.ts'
import type { Screen, ScreenProps } from './screen.ts'
import { Service } from './service.tsx'

export const services: Screen = { id: 'services', title: 'Services', View: Services }

/** Largest number of services in the list at the same time; others can be found by name. */
const MAX_LISTED = 100
/** The search field is shown if there are at least this number of services. */
const MANY = 12

type Histories = ReadonlyMap<string, History>
/** All processes of a service. */
type Processes = readonly [ServiceView, ...ServiceView[]]

function Services({ shown: { history, topics }, overview, path: [chosen] }: ScreenProps) {
  const { services, canTry, leftOut = 0 } = overview
  const [wanted, setWanted] = useState('')
  const all = byService(services)
  const found = all.filter(([{ service }]) => service.toLowerCase().includes(wanted.toLowerCase()))
  const isChosen = chosen !== undefined && chosen !== ''
  const service =
    services.find(({ id }) => id === chosen) ??
    services.find(({ service }) => service === chosen) ??
    (isChosen ? undefined : services[0])
  const id = service?.id
  useEffect(() => lookAt(id), [id])
  useEffect(() => () => lookAt(undefined), [])
  const processes = all.find(([first]) => first.service === service?.service) ?? []
  return (
    <div class="columns">
      <nav aria-label="Services">
        {all.length > MANY && <Search text={wanted} set={setWanted} />}
        <ul>
          {found.slice(0, MAX_LISTED).map((each) => (
            <li key={each[0].service}>
              <a
                href={hrefOf('services', each[0].id)}
                aria-current={each.includes(service as ServiceView) ? 'page' : undefined}
              >
                <span class={`dot ${stateOf(each)}`} aria-hidden="true" />
                <span class="name" title={each[0].service}>
                  {short(each[0].service)}
                </span>
                <span class="note">{noteOf(each, history)}</span>
              </a>
            </li>
          ))}
        </ul>
        {found.length > MAX_LISTED && (
          <p class="hint">{whole(found.length - MAX_LISTED)} more: find them by name</p>
        )}
        {leftOut > 0 && (
          <p class="hint">{plural(leftOut, 'service is', 'services are')} too many to be watched</p>
        )}
      </nav>
      <main>
        {service === undefined ? (
          <p role="status">
            {isChosen ? (
              <>
                No service <bdi>{chosen}</bdi> is known
              </>
            ) : (
              'No service listens yet'
            )}
          </p>
        ) : (
          <>
            {processes.length > 1 && (
              <ProcessTable processes={processes} chosen={service} histories={history} />
            )}
            <Service
              key={service.id}
              service={service}
              history={history.get(service.id) ?? NOTHING}
              marks={topics.history?.marks ?? []}
              program={programOf(service.service, topics.programs?.programs ?? [])}
              trying={canTry ? service.service : undefined}
            />
          </>
        )}
      </main>
    </div>
  )
}

/** The program in which a service runs, or from which it is missing because it is down. */
function programOf(service: string, programs: readonly ProgramView[]): string | undefined {
  const running = programs.find(({ services }) => services.includes(service))
  return (running ?? programs.find(({ name }) => name === service))?.name
}

function byService(services: readonly ServiceView[]): Processes[] {
  const all = new Map<string, [ServiceView, ...ServiceView[]]>()
  for (const view of services) {
    const known = all.get(view.service)
    if (known === undefined) all.set(view.service, [view])
    else known.push(view)
  }
  return [...all.values()]
}

/** A table of the processes of a service. */
function ProcessTable(props: {
  readonly processes: readonly ServiceView[]
  readonly chosen: ServiceView
  readonly histories: Histories
}) {
  const { processes, chosen, histories } = props
  return (
    <section aria-label="Processes">
      <div class="scroll card">
        <table class="figures">
          <thead>
            <tr>
              <th scope="col">process</th>
              <th scope="col">version</th>
              <th scope="col">msg/s</th>
              <th scope="col">p99 ms</th>
              <th scope="col">in flight</th>
            </tr>
          </thead>
          <tbody>
            {processes.map((each) => {
              const { id, instance, isSilent, described } = each
              const total = isSilent ? undefined : histories.get(id)?.moments.at(-1)?.sample.total
              return (
                <tr key={id}>
                  <th scope="row">
                    <a href={hrefOf('services', id)} aria-current={each === chosen ? 'true' : undefined}>
                      <span class={`dot ${stateOf([each])}`} aria-hidden="true" />{' '}
                      <span title={instance}>{instance === undefined ? id : shortInstance(instance)}</span>
                    </a>
                  </th>
                  <td>{described?.version || '–'}</td>
                  <td>{total === undefined ? '–' : count(total.rate)}</td>
                  <td>{ms(total?.p99)}</td>
                  <td>{total?.inFlight ?? '–'}</td>
                </tr>
              )
            })}
          </tbody>
        </table>
      </div>
    </section>
  )
}

function stateOf(processes: Processes): 'good' | 'odd' | 'bad' {
  if (processes.some(({ isSilent }) => isSilent === true)) return 'bad'
  return processes.every(({ described }) => described?.status === 'listening') ? 'good' : 'odd'
}

function noteOf(processes: Processes, histories: Histories): string {
  const [{ problem, described }] = processes
  const silent = processes.filter(({ isSilent }) => isSilent === true).length
  if (silent === processes.length) return described === undefined ? 'nothing known' : 'not reached'
  if (silent > 0) return `${silent} of ${processes.length} not reached`
  if (problem !== undefined) return 'does not describe itself'
  const rates = processes.flatMap(({ id }) => histories.get(id)?.moments.at(-1)?.sample.total?.rate ?? [])
  const what = rates.length === 0 ? (described?.status ?? '') : `${count(sum(rates))} msg/s`
  return processes.length === 1 ? what : `${what}, ${plural(processes.length, 'process', 'processes')}`
}

/** Largest number of characters of a name in the list. */
const MAX_NAME = 60

/** A name shortened to one or two lines. Its end is kept, because it distinguishes the name from others. */
function short(name: string): string {
  return name.length <= MAX_NAME ? name : `${name.slice(0, MAX_NAME - 21)}…${name.slice(-20)}`
}

function sum(values: readonly number[]): number {
  return values.reduce((all, value) => all + value, 0)
}

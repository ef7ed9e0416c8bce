/** One service: its transports, its activity and its patterns. */
import { useState } from 'preact/hooks'
import type { Mark, PatternView, ServiceView } from '../../protocol.ts'
import { breakable } from '../breakable.tsx'
import { count, ms, whole } from '../format.ts'
import { type History, keyOf, type Moment } from '../history.ts'
import { shortInstance } from '../instance.ts'
import { Pattern } from '../pattern.tsx'
import { hrefOf } from '../route.ts'
import { Search } from '../search.tsx'
import { Transports } from '../transports.tsx'
import { ServiceCharts } from './service-charts.tsx'

export function Service(props: {
  readonly service: ServiceView
  readonly history: History
  readonly marks: readonly Mark[]
  /** The program that the service runs in, if the page knows it. */
  readonly program: string | undefined
  /** The service to call; `undefined` if patterns may not be called. */
  readonly trying: string | undefined
}) {
  const { service, history, marks, program, trying } = props
  const last = history.moments.at(-1)
  const { id, problem, described } = service
  const isSilent = service.isSilent === true
  // The last figures of a service that does not answer would look like present ones.
  const latest = isSilent || last?.sample.isBrief ? undefined : last
  const [opened, open] = useState<string | undefined>()
  const [wanted, setWanted] = useState('')
  /** The server sends the patterns a moment after the user has chosen the service. */
  const isTold = described?.patterns !== undefined
  const patterns = described?.patterns ?? []
  const isOpen = patterns.some(({ kind, pattern }) => keyOf(kind, pattern) === opened)
  const key = isOpen ? opened : undefined
  const found = patterns.filter(({ pattern }) => pattern.toLowerCase().includes(wanted.toLowerCase()))
  const transports = latest?.sample.transports ?? []
  return (
    <>
      <div class="title">
        <h2>{described?.name || id}</h2>
        {described?.version ? <span class="version">{described.version}</span> : null}
        {service.instance !== undefined && (
          <span class="version">
            instance <b>{shortInstance(service.instance)}</b>
            {shortInstance(service.instance) !== service.instance && (
              <span class="whole"> {service.instance}</span>
            )}
          </span>
        )}
        {described !== undefined && <span class="status">{isSilent ? 'not reached' : described.status}</span>}
        {program !== undefined && <a href={hrefOf('programs', program)}>Log</a>}
      </div>
      {problem !== undefined &&
        (isSilent ? (
          <p class="problem" role="alert">
            {problem}
          </p>
        ) : (
          <p class="hint" role="status">
            {problem}
          </p>
        ))}
      {described?.leftOut.map((each) => (
        <p key={each} class="hint">
          Not shown: {each}.
        </p>
      ))}
      {described !== undefined && !described.isCounted && (
        <p class="hint">Figures of patterns, and charts, need telemetry() in the service.</p>
      )}
      {described !== undefined && (
        <>
          {described.isCounted && (
            <ServiceCharts
              service={service.service}
              id={id}
              history={history}
              marks={marks}
              pattern={key}
              showAll={() => open(undefined)}
            />
          )}
          {isTold && (
            <section aria-labelledby="patterns">
              <div class="bar">
                <h3 id="patterns">Patterns</h3>
                <Search text={wanted} set={setWanted} />
              </div>
              <PatternTable
                patterns={found}
                columns={described.isCounted ? COLUMNS : []}
                moment={latest}
                opened={key}
                open={open}
                trying={trying}
                empty={patterns.length === 0 ? 'The service has no patterns' : 'No pattern is called so'}
              />
            </section>
          )}
          {/* The transports are last, because they arrive with the first sample, and nothing below them can move
              then. */}
          {isTold && <Transports transports={transports} />}
        </>
      )}
    </>
  )
}

/** Largest number of patterns in the table at the same time; others can be found by name. */
const MAX_LISTED = 100

const COLUMNS = [
  ['msg/s', 'rate'],
  ['p50 ms', 'p50'],
  ['p99 ms', 'p99'],
  ['in flight', 'inFlight'],
  ['errors/s', 'errors']
] as const
type Column = (typeof COLUMNS)[number][1]

function PatternTable(props: {
  readonly patterns: readonly PatternView[]
  readonly columns: readonly (typeof COLUMNS)[number][]
  readonly moment: Moment | undefined
  readonly opened: string | undefined
  readonly open: (key: string | undefined) => void
  /** The service to call; `undefined` if patterns may not be called. */
  readonly trying: string | undefined
  readonly empty: string
}) {
  const { patterns, columns, moment, opened, open, trying, empty } = props
  const [sorting, sortBy] = useState<Column | undefined>()
  if (patterns.length === 0) return <p class="hint">{empty}</p>
  const figuresOf = ({ kind, pattern }: PatternView) => moment?.rows.get(keyOf(kind, pattern))
  const sorted =
    sorting === undefined
      ? patterns
      : [...patterns].sort((a, b) => (figuresOf(b)?.[sorting] ?? -1) - (figuresOf(a)?.[sorting] ?? -1))
  const shown = sorted.slice(0, MAX_LISTED)
  return (
    <>
      <table class="patterns">
        <thead>
          <tr>
            <th scope="col">pattern</th>
            {columns.map(([label, column]) => (
              <th
                key={column}
                scope="col"
                class={column}
                aria-sort={sorting === column ? 'descending' : undefined}
              >
                <button type="button" onClick={() => sortBy(sorting === column ? undefined : column)}>
                  {label}
                </button>
              </th>
            ))}
          </tr>
        </thead>
        {shown.map((view) => {
          const key = keyOf(view.kind, view.pattern)
          const figures = figuresOf(view)
          const isOpen = key === opened
          return (
            <tbody key={key}>
              <tr>
                <th scope="row">
                  <button type="button" aria-expanded={isOpen} onClick={() => open(isOpen ? undefined : key)}>
                    <code>{breakable(view.pattern)}</code>
                    {view.kind === 'event' && <span class="tag">event</span>}
                    {view.form !== 'exact' && <span class="tag">{view.form}</span>}
                  </button>
                </th>
                {columns.map(([, column]) => (
                  <td
                    key={column}
                    class={column === 'errors' && (figures?.errors ?? 0) > 0 ? 'errors some' : column}
                  >
                    {shownFigure(column, figures?.[column])}
                  </td>
                ))}
              </tr>
              {isOpen && (
                <tr>
                  <td class="opened" colSpan={columns.length + 1}>
                    <Pattern view={view} trying={trying} />
                  </td>
                </tr>
              )}
            </tbody>
          )
        })}
      </table>
      {sorted.length > shown.length && (
        <p class="hint">{whole(sorted.length - shown.length)} more: find them by name</p>
      )}
    </>
  )
}

function shownFigure(column: Column, value: number | undefined): string {
  if (value === undefined) return '–'
  if (column === 'inFlight') return String(value)
  return column === 'rate' || column === 'errors' ? count(value) : ms(value)
}
